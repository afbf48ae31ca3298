#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/family.hpp"
#include "theorems/scb/checks/growth.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/tilted_law.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::checks::starts {
namespace {

Statement sheet{.id = "scb.starts",
                .paper = "arXiv 2410.23438, reply 1 to the reviewers",
                .status = "claimed in source, orders and rates derived here",
                .about = "the population flow",
                .theorem = R"(
V(0) = 11'/N in place of mu 1' gives the same result, if gradients are projected up to O(1/N). With
w = 1/N - mu:
Gradients projected: V' and A' depend on V by <V,P>, <V,V> and (V - mu 1') - w1' only, as w1' has
no covariance product with anything, so that w1' stays: A and alpha_V are the same, and V is
apart by w1' for ever, at the distance
  |w1'|_mu^2 = |w|^2 = O(1/N),
as N^-1 if mu N keeps its law as N grows.
Gradients not projected: to leading order in 1/T, u = V mu and S_k = u.mu/|u|^2 at all times, and
  du/dt = S (mu - S u),
which has no component along u, so that V mu keeps its length and turns to mu,
  tan(angle) = tan(angle at first) exp(-N |mu|^2 t),  S_k = sqrt(N) |mu| cos(angle):
the offset does not vanish, but S V mu = mu holds at the end. S drives the growth,
  alpha_V' = S/T + K_Q alpha_A,  alpha_A' = K_P alpha_V,
so that alpha_V and alpha_A are larger than from mu 1' by a factor, between 1 and sqrt(N) |mu|, which
N does not take away: the growth comes earlier, by its logarithm over sqrt(K_P K_Q).
(If V itself is projected, it is mu 1' at once.))",
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
                .false_version = "straight",
                .reads = "flow"};

const Clause offset_apart =
    sheet.clause("projected, `V(0) = 11'/N` gives the run of `mu 1'`, apart by the offset");
const Clause turns = sheet.clause("unprojected, `V mu` turns to `mu` and keeps its length");
const Clause larger = sheet.clause("`alpha_V` and `alpha_A` grow larger by a derived factor");
const Clause small_offset = sheet.clause("the square of the offset goes as `1/N`");

const Hypothesis stationary = sheet.assume("`P mu = mu`");
const Hypothesis not_uniform = sheet.assume("`mu` not uniform");
const Hypothesis as_in_paper = sheet.assume("linear attention, both parts at one rate");

const Control smaller_offset = sheet.control("smaller", "the offset a tenth smaller");
const Control felt_offset = sheet.control("felt", "`<w1', P>` with `D` in place of `C`");
const Control rate_one = sheet.control("rate-one", "`V mu` turns at the rate 1");
const Control full_length = sheet.control("full-length", "`V mu` takes the length of `mu`");
const Control straight =
    sheet.control("straight", "unprojected, `V mu` goes straight to `mu`: the offset vanishes");
const Control same_growth =
    sheet.control("same-growth", "unprojected, `alpha_V` and `alpha_A` grow as from `mu 1'`");
const Control other_order = sheet.control("order", "`|w|^2` as `N^-1.1`");
const Rival per_entry = sheet.rival(
    "per-entry", "the square of the offset goes as that of its entries, `1/N^2`", "a factor");

const Knob vocabulary = sheet.knob(whole_knob("tokens", "tokens N of the vocabulary", 3, 12, 5));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 2000, 20000, 5000));
const Knob spread = sheet.knob(
    linear_knob("spread", "mu N is drawn within 1 +- spread, then normalised", 0.6, 0.9, 0.8));
const Knob even = sheet.knob(
    linear_knob("even", "mu uniform if above 0; 0: mu drawn", 0.5, 1, 0).breaking(not_uniform));

constexpr double tolerance = 1e-11;  // of the solves

void start_uniform(Training<double>& training) {
  training.start.setConstant(1 / static_cast<double>(training.bigrams.tokens()));
}

// Both runs with projected gradients along the growth: |V - V'|_mu over |w|, alpha_V and alpha_A of
// one over the other.
void judge_projected(Training<double> training, Examination& it) {
  const Bigrams<double>& b = training.bigrams;
  const Vector<double>& mu = b.stationary;
  const Index n = b.tokens();
  training.project = true;
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(training));
  const std::vector<double> times = times_of_growth(training, 0);
  const Solved usual(rung, times, tolerance);
  start_uniform(training);
  const Solved uniform(forget_type(PopulationFlow<double>(training)), times, tolerance);
  const Vector<double> w = training.start.col(0) - mu;
  const double product = w.dot(mu) / transition_size(b);  // <w1', P> with D in place of C is w.mu
  Comparison same =
      equal("`V` apart over `|w|`, and `alpha_V`, `alpha_A` of one run over the other");
  std::vector<Quantity> felt;
  std::vector<Quantity> smaller;
  for (std::size_t save = 0; save < times.size(); ++save) {
    const auto coefficient = [&](const Solved& run, const char* name) {
      return run.at(save, [&](const Vector<double>& x) { return observed_at(rung, x, name); });
    };
    const Quantity value = coefficient(usual, "alpha_V");
    Quantity distance = uniform.at(save, [&](const Vector<double>& x) {
      const Matrix<double> gap = (x - usual.state(save)).head(n * n).reshaped(n, n);
      return std::sqrt(stationary_square(gap, mu)) / w.norm();
    });
    // The solve of the other run counts as well.
    distance.add(ErrorPart::solver(value.error() * std::sqrt(transition_size(b)) / w.norm(), 0));
    const std::string at = ", " + usual.places()[save];
    same.add("V" + at, distance, 1);
    same.add("`alpha_V`" + at, coefficient(uniform, "alpha_V") / value, 1);
    same.add("`alpha_A`" + at, coefficient(uniform, "alpha_A") / coefficient(usual, "alpha_A"), 1);
    felt.insert(felt.end(), {1.0, 1 + product / value.value(), 1.0});
    smaller.insert(smaller.end(), {0.9, 1.0, 1.0});
  }
  it.judge(offset_apart, same.unless(felt_offset, felt).unless(smaller_offset, smaller));
}

// Not projected, alpha_V and alpha_A from 11'/N over those from mu 1' at t, as T grows; `at_first` is
// the tangent of the angle between 11'/N and mu.
std::vector<Quantity> derived_growth(const Bigrams<double>& b, double at_first, double t) {
  const double square = static_cast<double>(b.tokens()) * b.stationary.squaredNorm();
  const double transition = transition_size(b);
  const double context = context_size(b);
  AnyRung<double> rung = per_length(Sizes{transition, context, static_cast<double>(b.context)});
  rung.dimension = 2;
  rung.initial = Vector<double>::Zero(2);
  rung.field.value = [=](const Vector<double>& x, Vector<double>& dx, const double& time) {
    const double tangent = at_first * std::exp(-square * time);
    dx[0] = std::sqrt(square / (1 + tangent * tangent)) + context * x[1];  // S first
    dx[1] = transition * x[0];
  };
  const Solved run(rung, {t}, tolerance);
  const double g = std::sqrt(transition * context);
  return {run.at(0, [](const Vector<double>& x) { return x[0]; }) / Quantity(std::sinh(g * t) / g),
          run.at(0, [](const Vector<double>& x) { return x[1]; }) /
              Quantity((std::cosh(g * t) - 1) / context)};
}

// After t = 1/(N |mu|^2) of the flow that is not projected, as T grows: the rate at which V mu has
// turned towards mu, sqrt(N) |V mu|, and the mean of S_k over sqrt(N) |mu| cos(angle). After a time of
// growth: alpha_V and alpha_A over those from mu 1'.
void judge_unprojected(Training<double> training, Examination& it) {
  Bigrams<double>& b = training.bigrams;
  const Vector<double>& mu = b.stationary;
  const Index n = b.tokens();
  const auto tokens = static_cast<double>(n);
  const double rate = tokens * mu.squaredNorm();
  const double growing = 1 / std::sqrt(transition_size(b) * context_size(b));
  training.project = false;
  Training<double> usual = training;
  start_uniform(training);
  // Of the angle from mu, from the component across: mu may be nearly uniform.
  const auto tangent = [&](const Vector<double>& u) {
    const double along = u.dot(mu) / mu.squaredNorm();
    return (u - along * mu).norm() / (along * mu.norm());
  };
  const double at_first = tangent(Vector<double>::Constant(n, 1 / tokens));
  const Quantity first = log(Quantity(at_first, {ErrorPart::rounding(tokens, 1)}));
  const auto turning = [&](double shortness) {
    b.context = usual.bigrams.context = std::lround(1 / shortness);
    const AnyRung<double> rung = forget_type(PopulationFlow<double>(training));
    const Solved run(rung, {1 / rate, growing}, tolerance);
    const Solved usual_run(forget_type(PopulationFlow<double>(usual)), {growing}, tolerance);
    const auto coefficient = [&](const Solved& own, std::size_t save, const char* name) {
      return own.at(save, [&](const Vector<double>& x) { return observed_at(rung, x, name); });
    };
    const auto at_end = [&](auto of) {
      return run.at(0, [&](const Vector<double>& x) {
        return of(x, Vector<double>(x.head(n * n).reshaped(n, n) * mu));
      });
    };
    using State = Vector<double>;
    return std::vector<Quantity>{
        Quantity(rate) *
            (first - at_end([&](const State&, const State& u) { return std::log(tangent(u)); })),
        at_end([&](const State&, const State& u) { return std::sqrt(tokens) * u.norm(); }),
        at_end([&](const State& x, const State& u) {
          const double cosine = u.dot(mu) / (u.norm() * mu.norm());
          return observed_at(rung, x, "S_mean") / (std::sqrt(tokens) * mu.norm() * cosine);
        }),
        coefficient(run, 1, "alpha_V") / coefficient(usual_run, 0, "alpha_V"),
        coefficient(run, 1, "alpha_A") / coefficient(usual_run, 0, "alpha_A")};
  };
  // S follows at the rate T |V mu|^2 = T/N what turns at `rate`; a limit in 1/T shows from where
  // that is ten times as fast, over a time of growth from where it is forty times.
  const auto fast = std::llround(std::ceil(4 * tokens * rate / noticed_share));
  const auto shortest = static_cast<double>(std::max<Index>(b.context, fast));
  const std::vector<Quantity> found = limits_of(turning, 1 / shortest, 2, 3);
  // On the straight line, where the angle is as measured: V mu = along mu + ..., and its size.
  const double angle = at_first * std::exp(-found[0].value() / rate);
  const double along = 1 - angle * (rate - 1) / (at_first + angle * (rate - 1));
  const double size = along * std::sqrt(rate * (1 + angle * angle));
  it.judge(turns, equal("turning of `V mu`, as `T` grows",
                        std::vector<Quantity>(found.begin(), found.begin() + 3),
                        std::vector<Quantity>{rate, 1.0, 1.0})
                      .at({"rate", "length", "S"})
                      .unless(rate_one, std::vector<Quantity>{1.0, 1.0, 1.0})
                      .unless(full_length, std::vector<Quantity>{rate, std::sqrt(rate), 1.0})
                      .unless(straight, std::vector<Quantity>{found[0].value(), size, 1.0}));
  it.judge(larger, equal("unprojected, of one run over the other, as `T` grows",
                         std::vector<Quantity>(found.begin() + 3, found.end()),
                         derived_growth(b, at_first, growing))
                       .at(std::vector<std::string>{"`alpha_V`", "`alpha_A`"})
                       .unless(same_growth, {{1.0, 1.0}}));
}

// Exponent of N in the mean of |w|^2 between 30 and 300.
void judge_order(const Setting& setting, Examination& it) {
  constexpr double few = 30;
  constexpr double many = 300;
  const double width = setting.value(spread);
  const auto mean = [&](double n) {
    return sample_moments(
               squared_offsets(std::lround(n), width, setting.draws(400), setting.draw_seed()),
               setting.false_alarm)
        .mean.front();
  };
  Quantity exponent = (log(mean(few)) - log(mean(many))) / std::log(many / few);
  // |w|^2 = v/(N m^2), m and v the mean and variance of N numbers, is off by O(1/N) of itself.
  exponent.add(ErrorPart::next_order(1 / (few * std::log(many / few))));
  it.judge(small_offset, equal("order in `1/N` of the squared distance of both starts", exponent, 1)
                             .of_kind(EvidenceKind::statistical)
                             .unless(other_order, 1.1)
                             .against(per_entry, 2.0));
}

void examine(const Setting& setting, Examination& it) {
  Training<double> training = examined_training(setting, [&] {
    return tilted_training(setting.count(vocabulary), setting.count(length),
                           setting.value(even) > 0 ? 0.0 : setting.value(spread), setting.seed);
  });
  const Bigrams<double>& b = training.bigrams;
  training.start = b.stationary * Vector<double>::Ones(b.tokens()).transpose();
  const auto n = static_cast<double>(b.tokens());
  const double offset = (b.stationary.array() - 1 / n).matrix().norm();
  it.parameters = {{"N", b.tokens()}, {"T", b.context}, {"w", offset}, {"seed", setting.seed}};
  const double off = (b.transition * b.stationary - b.stationary).norm();
  it.require(stationary, ErrorPart::rounding(n * n, 2).size() - off,
             fmt::format("`|P mu - mu| = {:.3g}`", off));
  const double rounding = ErrorPart::rounding(n, 1).size();
  const bool uneven =
      it.require_positive(not_uniform, offset - rounding, fmt::format("`|w| = {:.3g}`", offset));
  const bool papers = it.require(as_in_paper, !training.softmax && training.attention_rate == 1);
  if (!papers || !uneven) return;
  judge_projected(training, it);
  judge_unprojected(training, it);
  judge_order(setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::starts
