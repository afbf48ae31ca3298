// Theorem    scb.perturbed-start
// Status     claimed in source, bound derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, the start A = 1/T, V = mu 1'
// Statement  a perturbation of the start does no harm as long as it does not undo the drift 1/T. On
//            the flow only its component along the growing mode counts, to first order,
//              y = alpha_V + l alpha_A,  l = (K_Q - 1/T)/g,  g the growth rate,
//            (W decays), and the run takes the right branch iff
//              y(0) > -1/(T g),
//            up to O(1/T): what is allowed shrinks as 1/T. Half of it delays growth by ln 2/g, and
//            at the end, which creeps on (scb.fixed-points), moves
//              alpha_V by -(1 - v)/2 ln 2/(T g),  alpha_A by (1 - v)/(2 v^2) ln 2/(T g),
//            v = (K_Q/K_P)^{1/4}, up to O(1/T^2): as 1/T, or as 1/T^2 where K_P = K_Q. On the wrong
//            branch alpha_V and alpha_A are both negative
// Hypotheses H1 T large; H2 1'V = 1', V mu = mu, A on the family, linear attention
// Check      size at which a perturbation of V and A in a drawn direction changes the branch, by
//            bisection, over what is derived, as T doubles twice; how far half of it moves
//            (alpha_V, alpha_A), times T g/ln 2, from a T at which runs creep by a tenth at most
//            while they settle
// Controls   the size a tenth larger; the component along A left out; an end that creeps to
//            (1.1, 1.1) in place of (1, 1)
// Uses       rung reduced

#include <numbers>

#include "theorems/scb/checks/growth.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::perturbed_start {
namespace {

constexpr double tolerance = 1e-11;  // of the solves
constexpr Knob length =
    logarithmic_knob("length", "positions T of the shortest context", 3e3, 1e5, 1e4);
constexpr Knob direction_knob = linear_knob(
    "direction", "angle of the perturbation, from -V to -A, over a right angle", 0.1, 0.9, 0.5);
constexpr Knob residual =
    linear_knob("residual", "sqrt(<W,W>/K_P) over the perturbation along P", 0, 2, 1);

// A perturbation of unit size in (alpha_V, alpha_A), and W with it.
struct Perturbation {
  double value = 0, attention = 0, residual = 0;
  [[nodiscard]] Vector<double> times(double size, double transition) const {
    return Vector<double>{
        {size * value, size * attention, transition * std::pow(size * value * residual, 2)}};
  }
  // y of the unit perturbation.
  [[nodiscard]] double along_growth(const Sizes& sizes, bool of_attention) const {
    const double rest = sizes.context - 1 / sizes.positions;
    return value + (of_attention ? rest / sizes.rate() * attention : 0);
  }
};

// Until (alpha_V, alpha_A) has left 0 and settled, T x after it.
Solved settled(Sizes sizes, const Perturbation& perturbation, double size) {
  sizes.start = perturbation.times(size, sizes.transition);
  const double time = sizes.time_to(noticed_share) + sizes.time_to_settle();
  return {per_length(sizes), {time}, tolerance};
}

// The size at which the branch changes, times the size derived: 1 as T grows.
Quantity critical_size(const Sizes& sizes, const Perturbation& perturbation) {
  const double derived =
      -1 / (sizes.positions * sizes.rate() * perturbation.along_growth(sizes, true));
  double low = 0;
  double high = 2;
  constexpr int halvings = 24;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    const bool right = settled(sizes, perturbation, middle * derived).state(0)[0] > 0;
    (right ? low : high) = middle;
  }
  return {(low + high) / 2, {ErrorPart::enclosure((high - low) / 2)}};
}

// alpha_V where the flow settles, as T grows.
double balanced(const Sizes& sizes) { return std::pow(sizes.context / sizes.transition, 0.25); }

// By how much of itself a delay of the creep v' = (1 - v)/T v^4/(kappa + v^4), v^4 = kappa at first,
// changes in v and in 1/v while runs settle, to first order in 1/T.
double aged(const Sizes& sizes) {
  return std::max(std::fabs(1 / balanced(sizes) - 1.5), 0.5) * sizes.time_to_settle() /
         sizes.positions;
}

// How far half of the critical size moves alpha_V and alpha_A at the end of the growth, times
// T g/ln 2.
std::vector<Quantity> moved(const Sizes& sizes, const Perturbation& perturbation) {
  const double derived =
      -1 / (sizes.positions * sizes.rate() * perturbation.along_growth(sizes, true));
  const Solved usual = settled(sizes, perturbation, 0);
  const Solved perturbed = settled(sizes, perturbation, derived / 2);
  std::vector<Quantity> by;
  for (const Index i : {0, 1}) {
    const auto coefficient = [i](const Vector<double>& x) { return x[i]; };  // times T
    by.push_back((perturbed.at(0, coefficient) - usual.at(0, coefficient)) *
                 Quantity(sizes.rate() / std::numbers::ln2));
  }
  return by;
}

void judge_moved(const Sizes& sizes, const Perturbation& perturbation, Examination& it) {
  const Sizes first = sizes.longer(std::max(1.0, aged(sizes) / noticed_share));
  const double v = balanced(sizes);
  const auto at_length = [&](double part) { return moved(first.longer(1 / part), perturbation); };
  it.judge(Comparison{
      .what = "what half of it moves the end of the growth by, times T g/ln 2",
      .measured = limits_of(at_length, 1, 2, 3),
      .predicted = {-(1 - v) / 2, (1 - v) / (2 * v * v)},
      .scale = {(1 + v) / 2, (1 + v) / (2 * v * v)},
      .mistakes = {predicts("rest-point", {-(1.1 - v) / 2, (1 - 1.1 * v) / (2 * v * v)})},
      .places = {"alpha_V", "alpha_A"},
      .detail = fmt::format("from T = {:.3g}", first.positions)});
}

void examine(const Setting& setting, Examination& it) {
  Sizes sizes = examined_sizes(setting, setting.value(length), 0, nullptr);
  sizes.start.setZero();
  it.parameters = parameters_of(sizes, setting);
  const double left_out = sizes.leftover(1 - noticed_share);
  it.require("T large", noticed_share - left_out,
             fmt::format("left out {:.3g}, allowed {:.3g}", left_out, noticed_share));
  if (left_out > noticed_share) return;
  const double angle = std::numbers::pi / 2 * setting.value(direction_knob);
  const Perturbation perturbation{-std::cos(angle) / std::sqrt(sizes.transition),
                                  -std::sin(angle) / std::sqrt(sizes.context),
                                  setting.value(residual)};
  const Quantity here = critical_size(sizes, perturbation);
  const auto at_length = [&](double part) {
    return part == 1 ? here : critical_size(sizes.longer(1 / part), perturbation);
  };
  const double values_alone =
      perturbation.along_growth(sizes, true) / perturbation.along_growth(sizes, false);
  it.judge(
      Comparison{.what = "perturbation that changes the branch over what is derived",
                 .measured = {limit_of(at_length, 1, 2, 3)},
                 .predicted = {1.0},
                 .mistakes = {predicts("larger", 1.1), predicts("values-alone", values_alone)},
                 .detail = fmt::format("{:.6g} at T = {:.3g}", here.value(), sizes.positions)});
  judge_moved(sizes, perturbation, it);
}

}  // namespace

Statement statement() {
  return {.id = "scb.perturbed-start",
          .claim = "a perturbation of the start does no harm below a size that shrinks as 1/T",
          .paper = "arXiv 2410.23438",
          .status = "claimed in source, bound derived here",
          .hypotheses = {"T large",
                         by_construction("1'V = 1', V mu = mu, A on the family, linear attention",
                                         "the rung reduced knows no other states")},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"larger", "the size a tenth larger"},
                       {"values-alone", "the component along A left out"},
                       {"rest-point", "the end creeps to (1.1, 1.1) in place of (1, 1)"}},
          .knobs = {transition_size_knob, context_size_knob, length, short_context, direction_knob,
                    residual},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scb::checks::perturbed_start
