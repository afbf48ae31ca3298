// Theorem    joma.entropy-bounce
// Status     observed in source, corrected here (Section 4)
// Source     Tian et al., JoMA, arXiv 2310.00535, Section 4 and its entropy figure
// Statement  reduced flow, nonlinear phi, one unit, equal starts v0 below all mu_j, z_j = v_j^2/tau:
//            the attention entropy falls first, as
//              ln d - H = Var(z)/2 + ...,  z_j = (v0 + v_j'(0) t)^2/tau,
//            its minimum lies below the entropy at mu, and it rises last, at the rate of the token
//            that comes last, exp(min mu^2/tau) on the exp clock. A single bounce is not general.
// Hypotheses H1 one unit; H2 v_j(0) = v0 for all j; H3 0 <= v0 < mu_j; H4 mu not constant
// Check      fall at small t against its leading term; minimum against the entropy at mu; rate of
//            the last rise against the linearisation at mu
// Controls   a fall 10 % faster; a last rate 10 % larger
// Uses       rung reduced

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/order.hpp"
#include "popgrad/random.hpp"
#include "popgrad/solve.hpp"
#include "popgrad/solved.hpp"
#include "theorems/joma/knobs.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

constexpr Knob spread{.name = "spread",
                      .meaning = "width of the law 1 + spread U(0, 1) that mu is drawn from",
                      .low = 0.1,
                      .high = 3,
                      .usual = 3,
                      .spacing = Spacing::logarithmic};
constexpr Knob start{.name = "start",
                     .meaning = "common start v0 of all tokens",
                     .low = 0,
                     .high = 0.9,
                     .usual = 0.05};
constexpr Knob drawn_tokens{.name = "tokens",
                            .meaning = "tokens of a draw of mu",
                            .low = 2,
                            .high = 10,
                            .usual = 10,
                            .spacing = Spacing::whole};
constexpr Knob overshoot{.name = "overshoot",
                         .meaning = "v0 beyond the smallest mu, in units of it; 0: as `start` says",
                         .low = 1e-3,
                         .high = 3,
                         .usual = 0,
                         .spacing = Spacing::logarithmic,
                         .breaks = "0 <= v0 < mu_j"};
constexpr Knob unevenness{.name = "unevenness",
                          .meaning = "deviation of v_j(0) from v0, in units of the smallest mu",
                          .low = 1e-4,
                          .high = 1,
                          .usual = 0,
                          .spacing = Spacing::logarithmic,
                          .breaks = "v_j(0) = v0 for all j"};

// mu = 1 + spread U(0, 1), by the authors' law; the exp clock has the same orbit
// (joma.clock-change) and settles by a known time.
ReducedInstance<double> drawn_instance(const Setting& setting) {
  ReducedInstance<double> instance = entropy_instance(setting.seed);
  const Index all = instance.tokens();
  const Index d = setting.count(drawn_tokens);
  Matrix<double> target(d, 1);
  for (Index l = 0; l < d; ++l) {
    target(l, 0) = 1 + setting.value(spread) / 3 * (instance.target(l * all / d, 0) - 1);
  }
  const double smallest = target.minCoeff();
  const double beyond = setting.value(overshoot);
  const double v0 = beyond > 0 ? smallest * (1 + beyond) : setting.value(start);
  instance.target = target;
  instance.start = Matrix<double>::Constant(d, 1, v0);
  if (const double uneven = setting.value(unevenness); uneven > 0) {
    Stream stream(setting.seed, stream_of_drawn_instances, 8);
    for (double& v : instance.start.reshaped()) v += uneven * smallest * stream.normal();
  }
  instance.logits = Vector<double>::Zero(d);
  instance.tau = setting.value(tau);
  instance.attention = Attention::exp;
  return instance;
}

double variance(const Vector<double>& z) { return (z.array() - z.mean()).square().mean(); }

// Rates of approach to mu, by token: the linearisation.
Vector<double> last_rates(const ReducedInstance<double>& instance) {
  const Vector<double> gain =
      (instance.target.col(0).array().square() / instance.tau).exp().matrix();
  return instance.attention == Attention::softmax ? Vector<double>(gain / gain.sum()) : gain;
}

void require_hypotheses(const ReducedInstance<double>& instance, Examination& it) {
  const double v0 = instance.start(0, 0);
  const double least = instance.target.minCoeff();
  const double uneven = (instance.start.array() - v0).abs().maxCoeff();
  it.require("one unit", 1.0 - static_cast<double>(instance.units()));
  it.require("v_j(0) = v0 for all j", -uneven, fmt::format("apart by {:.3g}", uneven));
  it.require("0 <= v0 < mu_j", std::min(v0, least - v0),
             fmt::format("v0 = {:.4g}, least mu = {:.4g}", v0, least));
  const double apart = instance.target.maxCoeff() - least;
  it.require("mu not constant", apart > 0 ? Truth::yes : Truth::no,
             fmt::format("largest minus least {:.3g}", apart));
}

// The fall over Var(z)/2 as t goes to 0, from a time at which z has parted by little.
void judge_first_fall(const ReducedFlow<double>& flow, Examination& it) {
  const AnyRung<double> rung = forget_type(flow);
  Vector<double> slope(rung.dimension);
  rung.rhs(rung.initial, slope, 0.0);
  const auto parted = [&](double t) {
    const Vector<double> v = rung.initial + t * slope;
    return variance(v.cwiseProduct(v) / flow.instance().tau);
  };
  double t = 1 / slope.cwiseAbs().maxCoeff();
  while (parted(t) > 1e-8) t /= 2;
  const std::vector<double> times{t, t / 2};
  const Solved early(rung, {times.rbegin(), times.rend()}, 1e-12);
  const double even = std::log(static_cast<double>(rung.dimension));
  const auto share = [&](std::size_t save) {
    const Quantity fall =
        early.at(save, [&](const Vector<double>& v) { return even - flow.attention_entropy(v); });
    const double unit = 2 / parted(early.times()[save]);
    Quantity part = fall * Quantity(unit);
    part.add(ErrorPart::rounding(static_cast<double>(rung.dimension), even * unit));
    return part;
  };
  it.judge(Comparison{.what = "first fall of the entropy over Var(z)/2",
                      .measured = {limit_in(times, std::vector{share(1), share(0)})},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("fall-rate", 1.1)}});
}

// Attention of softmax, its entropy, and what each v_j adds to the entropy, dH/dv_j.
struct EntropyAt {
  double entropy;
  Vector<double> slope;
};
EntropyAt entropy_at(const ReducedFlow<double>& flow, const Vector<double>& v) {
  const Vector<double> logits = flow.attention_logits(v);
  const Vector<double> gain = (logits.array() - logits.maxCoeff()).exp().matrix();
  const Vector<double> share = gain / gain.sum();
  const Vector<double> logs = logits.array() - logits.maxCoeff() - std::log(gain.sum());
  const double entropy = -share.dot(logs);
  const Vector<double> of_logits = -(share.array() * (logs.array() + entropy)).matrix();
  return {entropy, 2 / flow.instance().tau * of_logits.cwiseProduct(v)};
}

// The solution until the token that comes last has 1e-4 of its way before it.
Solved until_settled(const AnyRung<double>& rung, const Vector<double>& mu, Index last,
                     double slowest) {
  constexpr std::size_t saves = 200;
  for (double end = 1 / slowest; std::isfinite(end); end *= 2) {
    Solved run(rung, equally_spaced(0.0, end, saves), 1e-12);
    if (std::fabs(1 - run.state(saves - 1)[last] / mu[last]) < 1e-4) return run;
  }
  throw std::runtime_error("the last token never comes near mu");
}

// dH/dt/(H(mu) - H) near mu against its linearisation, in which token j comes at its own rate with
// the weight dH/dv_j (mu_j - v_j).
void judge_last_rise(const ReducedFlow<double>& flow, Examination& it) {
  const AnyRung<double> rung = forget_type(flow);
  const Vector<double> mu = flow.instance().target.col(0);
  const Vector<double> rates = last_rates(flow.instance());
  Index last = 0;
  const double slowest = rates.minCoeff(&last);
  const EntropyAt settled = entropy_at(flow, mu);
  const Solved run = until_settled(rung, mu, last, slowest);
  const auto measured = [&](const Vector<double>& v) {
    Vector<double> slope(v.size());
    rung.rhs(v, slope, 0.0);
    const EntropyAt now = entropy_at(flow, v);
    return now.slope.dot(slope) / (settled.entropy - now.entropy);
  };
  const auto predicted = [&](const Vector<double>& v) {
    const Vector<double> weight = settled.slope.cwiseProduct(mu - v);
    return weight.dot(rates) / weight.sum();
  };
  // Where a thousandth, and a tenth of that, of the last token's way is left.
  const auto save_where = [&](double left) {
    std::size_t save = run.size() - 1;
    while (save > 0 && std::fabs(1 - run.state(save)[last] / mu[last]) < left) --save;
    return save;
  };
  const std::size_t near = save_where(1e-4);
  const std::size_t far = save_where(1e-3);
  Quantity rate = run.at(near, measured);
  rate.add(ErrorPart::next_order(measured(run.state(far)) - predicted(run.state(far))));
  it.judge(Comparison{.what = "rate of the last rise of the entropy",
                      .measured = {rate},
                      .predicted = {run.at(near, predicted)},
                      .mistakes = {predicts_times("last-rate", 1.1)},
                      .places = {fmt::format("t = {:.4g}", run.times()[near])},
                      .detail = fmt::format("slowest token {:.6g}", slowest)});
  const Quantity least =
      smallest_along(rung, run.times().back(), 1e-12,
                     [&](const Vector<double>& v) { return entropy_at(flow, v).entropy; });
  it.judge(Comparison{.what = "least entropy against that at mu",
                      .measured = {least},
                      .relation = Relation::below,
                      .predicted = {settled.entropy},
                      .scale = {std::log(static_cast<double>(mu.size())) - settled.entropy}});
}

void examine(const Setting& setting, Examination& it) {
  const ReducedInstance<double> instance =
      setting.instance != nullptr ? reduced_instance<double>(*setting.instance, setting.seed)
                                  : drawn_instance(setting);
  it.parameters = {{"mu", std::vector<double>(instance.target.data(),
                                              instance.target.data() + instance.target.size())},
                   {"v0", instance.start(0, 0)},
                   {"tau", instance.tau},
                   {"seed", setting.seed}};
  require_hypotheses(instance, it);
  if (instance.units() > 1 || !instance.nonlinear) return;
  const ReducedFlow<double> flow(instance);
  judge_first_fall(flow, it);
  judge_last_rise(flow, it);
}

// Minima of the entropy for the given mu at tau = 3, v0 = 0.05.
std::vector<FoundEvent> extrema_of(const std::vector<double>& mu) {
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.target = Eigen::Map<const Matrix<double>>(mu.data(), std::ssize(mu), 1);
  instance.start = Matrix<double>::Constant(std::ssize(mu), 1, 0.05);
  instance.logits = Vector<double>::Zero(std::ssize(mu));
  instance.tau = 3;
  return events_of(forget_type(ReducedFlow<double>(instance)), 25, 1e-12);
}

}  // namespace

Statement entropy_bounce() {
  return {
      .id = "joma.entropy-bounce",
      .claim = "nonlinear phi: entropy falls first, rises last, minimum below the entropy at mu",
      .paper = "arXiv 2310.00535, Section 4",
      .status = "observed in source, corrected here",
      .hypotheses = {"one unit", "v_j(0) = v0 for all j", "0 <= v0 < mu_j", "mu not constant"},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"fall-rate", "the first fall 10 % faster"},
                   {"last-rate", "the rate of the last rise 10 % larger"}},
      .knobs = {tau, spread, start, drawn_tokens, overshoot, unevenness},
      .reads = "reduced",
      .examine = examine};
}

Erratum single_bounce() {
  return {
      .name = "joma: single bounce",
      .statement = "joma.entropy-bounce",
      .paper_says = "Section 4: with nonlinear phi the entropy falls and then bounces back (once)",
      .algebra_says = "it falls first and rises last, but several bounces are possible",
      .evidence = [] {
        const auto extrema = extrema_of({1.63, 1.77, 1.79, 1.82, 1.83, 1.83, 4.23, 4.25});
        std::string told;
        for (const FoundEvent& e : extrema) {
          told += fmt::format("{}{} {:.6f}", told.empty() ? "" : ", ", e.name, e.value.value());
        }
        return std::vector<Evidence>{identity(EvidenceKind::numerical,
                                              "mu = 1.63 .. 4.25, tau = 3, v0 = 0.05 bounces twice",
                                              extrema.size() == 3 ? Truth::yes : Truth::no, told)};
      }};
}

}  // namespace popgrad::theorems::joma
