#include "theorems/joma/rungs/stable_rank.hpp"
#include "theorems/joma/checks/approach.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::stable_rank {
namespace {

Statement sheet{.id = "joma.stable-rank",
                .paper = "arXiv 2310.00535, Section 5",
                .status = "observed in source, conditions derived here",
                .about = "the reduced flow",
                .theorem = R"(
Nonlinear phi, K units, V(0) = 0, rows Mu_l of Mu orthogonal: the stable rank
  R(V) = |V|_F^2/|V|_2^2
starts (s -> 0+) and ends at that of Mu, and is never above it. With m_l = |Mu_l|^2, m_1 the
largest,
  R(Mu) - R(V) = (2 s^2/(3 tau)) sum_l (m_l/m_1) (m_1 - m_l) + O(s^3),
and late, by the linearisation at Mu, with y_l = ln(1/delta_l),
  R(Mu) - R(V) = 2 sum_l (m_l/m_1) (e^{-y_l} - e^{-y_1}),  y_l' = e^{m_l/tau}.
s is the time of exp attention; softmax attention has the same orbit.)",
                .reaches = {EvidenceKind::numerical},
                .false_version = "any-rows",
                .knobs = {tau, token_count},
                .reads = "reduced"};

const Clause falls_first =
    sheet.clause("stable rank from `V(0) = 0` starts at that of `Mu` and falls as `s^2`");
const Clause returns_last = sheet.clause("returns to it by the linearisation at `Mu`");
const Clause not_above = sheet.clause("is not above it on the way");
[[maybe_unused]] const Clause trained = sheet.not_checked("trained lower MLP weights");

const Hypothesis nonlinear = sheet.assume("nonlinear `phi`");
const Hypothesis zero_start = sheet.assume("`V(0) = 0`");
const Hypothesis orthogonal = sheet.assume("rows of `Mu` orthogonal");
const Hypothesis unlike = sheet.assume("tokens of `Mu` differ in size");

const Control larger_fall = sheet.control("fall", "the first fall 10 % larger");
const Control larger_rate = sheet.control("last-rate", "the rate of the last rise 10 % larger");
const Control larger_lack = sheet.control("last-lack", "what is left of the last rise 10 % larger");
const Control any_rows = sheet.control(
    "any-rows", "the first fall is the same where tokens share hidden units with the dominant one");

const Rival no_attention = sheet.rival(
    "no-attention", "the stable rank stays that of `Mu`, as without attention", "a clock");

const Knob dominant =
    sheet.knob(logarithmic_knob("dominant", "size of the dominant token of Mu", 1, 3, 3));
const Knob weakest = sheet.knob(linear_knob(
    "weakest", "size of the weakest token, in units of the dominant one", 0.05, 0.95, 0.5));
const Knob start_size = sheet.knob(
    logarithmic_knob("start", "deviation of V(0), in units of the dominant token", 1e-9, 0.3, 0)
        .breaking(zero_start));
const Knob mixing = sheet.knob(
    logarithmic_knob("mixing", "deviation of Mu off the diagonal, in units of a row's size", 1e-3,
                     10, 0)
        .breaking(orthogonal));

// Mu diagonal, of sizes between the weakest and the dominant token, which both occur; V(0) = 0.
// Knobs of broken hypotheses turn the rows of Mu, whose sizes stay, and move V(0).
ReducedInstance<double> token_a_unit(const Setting& setting) {
  const Index d = setting.count(token_count);
  Stream stream(setting.seed, stream_of_drawn_instances, 10);
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.tau = setting.value(tau);
  instance.target.resize(d, d);
  instance.start.resize(d, d);
  instance.logits = Vector<double>::Zero(d);
  for (Index l = 0; l < d; ++l) {
    const double place = l == 0 ? 0.0 : l + 1 == d ? 1.0 : stream.uniform();
    for (Index k = 0; k < d; ++k) {
      instance.target(l, k) = (k == l ? 1 : 0) + setting.value(mixing) * stream.normal();
      instance.start(l, k) = setting.value(start_size) * setting.value(dominant) * stream.normal();
    }
    instance.target.row(l) *= setting.value(dominant) * (1 - (1 - setting.value(weakest)) * place) /
                              instance.target.row(l).norm();
  }
  return instance;
}

double rank_of(const ReducedInstance<double>& instance, const Vector<double>& v) {
  return popgrad::joma::stable_rank<double>(v.reshaped(instance.tokens(), instance.units()));
}

void require_hypotheses(const ReducedInstance<double>& instance, Examination& it) {
  const Vector<double> sizes = instance.target.rowwise().norm();
  const double largest = instance.start.cwiseAbs().maxCoeff();
  // A row of zeros stays one, where rowwise().normalized() divides by 0.
  Matrix<double> rows = instance.target;
  for (Index l = 0; l < rows.rows(); ++l) rows.row(l).normalize();
  Matrix<double> cosines = rows * rows.transpose();
  cosines.diagonal().setZero();
  const double overlap = cosines.cwiseAbs().maxCoeff();
  const double rounding = ErrorPart::rounding(static_cast<double>(rows.cols()), 1).size();
  const double apart = sizes.maxCoeff() - sizes.minCoeff();
  it.require(nonlinear, instance.nonlinear);
  it.require(zero_start, -largest, fmt::format("up to {:.3g}", largest));
  it.require(orthogonal, rounding - overlap, fmt::format("cosine {:.3g}", overlap));
  it.require(unlike, apart > 0, fmt::format("by {:.3g}", apart));
}

Quantity first_fall(const ReducedInstance<double>& instance) {
  const Vector<double> m = instance.target.rowwise().squaredNorm();
  const double end = popgrad::joma::stable_rank(instance.target);
  const double s = 0.01 / std::sqrt(1 + m.maxCoeff() / instance.tau);
  const std::vector<double> falling = falling_parameters(s, 2, 2);
  const Solved run(forget_type(ReducedFlow<double>(instance)), {falling.rbegin(), falling.rend()},
                   1e-13);
  const auto fall = [&](std::size_t save) {
    const double unit = std::pow(run.times()[save], 2);
    Quantity value =
        run.at(save, [&](const Vector<double>& v) { return (end - rank_of(instance, v)) / unit; });
    value.add(ErrorPart::rounding(static_cast<double>(m.size()), end / unit));
    return value;
  };
  std::vector<Quantity> falls;
  for (std::size_t save = run.size(); save-- > 0;) falls.push_back(fall(save));
  return limit_in(falling, falls);
}

// Rows of the same sizes, each halfway between its own direction and that of the dominant token.
ReducedInstance<double> with_shared_units(ReducedInstance<double> instance) {
  const Vector<double> sizes = instance.target.rowwise().norm();
  const Vector<double> dominant_row = instance.target.row(strongest_token(instance)).normalized();
  for (Index l = 0; l < sizes.size(); ++l) {
    if (sizes[l] == 0) continue;
    const Vector<double> halfway = instance.target.row(l).transpose() / sizes[l] + dominant_row;
    instance.target.row(l) = sizes[l] * halfway.normalized().transpose();
  }
  return instance;
}

void judge_first_fall(const ReducedInstance<double>& instance, Examination& it) {
  const Vector<double> m = instance.target.rowwise().squaredNorm();
  const double predicted =
      2 / (3 * instance.tau) * (m.array() / m.maxCoeff() * (m.maxCoeff() - m.array())).sum();
  it.judge(falls_first,
           equal("first fall of the stable rank over `s^2`", first_fall(instance), predicted)
               .unless(larger_fall, times(1.1))
               .unless(any_rows, [&] { return first_fall(with_shared_units(instance)); })
               .against(no_attention, 0.0));
}

// On the clock y of the weakest token, whose delta is e^-y. What is neglected falls with delta, and
// may change its sign on the way: both intervals before the last one bound it.
void judge_last_rise(const ReducedInstance<double>& instance, Examination& it) {
  const Vector<double> m = instance.target.rowwise().squaredNorm();
  const Index slowest = weakest_token(instance);
  const Index d = m.size();
  const double end = popgrad::joma::stable_rank(instance.target);
  constexpr double step = 2;
  const AnyRung<double> logs = approach_of(instance, slowest);
  constexpr double late = 6;
  // delta where the intervals begin
  const std::size_t intervals = falling_parameters(std::exp(-late), std::exp(step), 3).size();
  std::vector<double> clock{late};
  while (clock.size() <= intervals) clock.push_back(clock.back() + step);
  const Solved run(logs, clock, 1e-12);
  const auto rank = [&](const auto& y) { return rank_of(instance, weights_after(instance, y)); };
  const auto measured = [&](std::size_t save) {
    const auto log_lack = [&](std::size_t k) {
      return run.at(k, [&](const Vector<double>& y) { return std::log(end - rank(y)); });
    };
    const auto s = [d](const Vector<double>& y) { return y[d]; };
    return (log_lack(save) - log_lack(save + 1)) / (run.at(save + 1, s) - run.at(save, s));
  };
  // R(Mu) - R(V), linearised, when the weakest token has come on by `later`.
  const Vector<double> rates = ((m.array() - m[slowest]) / instance.tau).exp();
  const auto lack = [&](const Vector<double>& y, double later) {
    const Vector<double> left = (-y.head(d) - later * rates).array().exp();
    return 2 / m.maxCoeff() *
           m.dot(left - Vector<double>::Constant(d, left[strongest_token(instance)]));
  };
  const auto predicted = [&](std::size_t save) {
    return run.at(save, [&](const Vector<double>& y) {
      return std::exp(m[slowest] / instance.tau) * std::log(lack(y, 0) / lack(y, step)) / step;
    });
  };
  const auto share_of_lack = [&](std::size_t save) {
    return run.at(save, [&](const Vector<double>& y) { return (end - rank(y)) / lack(y, 0); });
  };
  const std::size_t last = intervals - 1;
  Quantity rate = measured(last);
  Quantity share = share_of_lack(last);
  share.add(ErrorPart::rounding(static_cast<double>(d), end / lack(run.state(last), 0)));
  for (const std::size_t before : {last - 2, last - 1}) {
    rate.add(ErrorPart::next_order(measured(before).value() - predicted(before).value()));
    share.add(ErrorPart::next_order(share_of_lack(before).value() - 1));
  }
  it.judge(returns_last, equal("rate of the last rise of the stable rank", rate, predicted(last))
                             .unless(larger_rate, times(1.1)));
  it.judge(returns_last, equal("what is left of the last rise, over its linearisation", share, 1)
                             .unless(larger_lack, times(1.1)));
  // The rank tends to that of Mu as V goes to 0, where it is undefined.
  const auto rank_or_limit = [&](const Vector<double>& y) { return y[d] > 0 ? rank(y) : end; };
  Quantity largest = largest_along(logs, run.times().back(), 1e-12, rank_or_limit);
  largest.add(ErrorPart::rounding(static_cast<double>(d), end));
  it.judge(not_above, at_most("largest stable rank on the way against that of `Mu`", largest, end));
}

void examine(const Setting& setting, Examination& it) {
  ReducedInstance<double> instance =
      examined(setting, reduced_instance<double>, [&] { return token_a_unit(setting); });
  it.parameters = parameters_of(instance, setting);
  require_hypotheses(instance, it);
  if (!instance.nonlinear) return;
  instance.attention = Attention::exp;  // softmax attention has the same orbit
  judge_first_fall(instance, it);
  judge_last_rise(instance, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::stable_rank
