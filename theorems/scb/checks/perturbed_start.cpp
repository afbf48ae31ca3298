#include <numbers>

#include "theorems/scb/checks/growth.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::perturbed_start {
namespace {

Statement sheet{.id = "scb.perturbed-start",
                .paper = "arXiv 2410.23438, the start A = 1/T, V = mu 1'",
                .status = "claimed in source, bound derived here",
                .about = "the reduced flow",
                .theorem = R"(
A perturbation of the start A = 1/T, V = mu 1' does no harm as long as it does not undo the drift
1/T. On the flow only its component along the growing mode counts, to first order,
  y = alpha_V + l alpha_A,  l = (K_Q - 1/T)/g,  g the growth rate,
(W decays), and the run takes the right branch iff
  y(0) > -1/(T g),
up to O(1/T): what is allowed shrinks as 1/T. Half of it delays growth by ln 2/g, and at the end,
which creeps on (scb.fixed-points), moves
  alpha_V by -(1 - v)/2 ln 2/(T g),  alpha_A by (1 - v)/(2 v^2) ln 2/(T g),
v = (K_Q/K_P)^{1/4}, up to O(1/T^2): as 1/T, or as 1/T^2 where K_P = K_Q. On the wrong branch
alpha_V and alpha_A are both negative.)",
                .reaches = {EvidenceKind::numerical},
                .knobs = {transition_size_knob, context_size_knob},
                .reads = "reduced"};

const Clause allowed =
    sheet.clause("a perturbation of the start keeps the branch below a size that shrinks as 1/T");
const Clause harmless = sheet.clause("half of it moves the end of the growth as 1/T");

const Hypothesis long_context = sheet.assume(
    {"T large", Basis::evaluated, "the formulas leave out less than has to be noticed"});
const Hypothesis on_family =
    sheet.assume(by_construction("1'V = 1', V mu = mu, A on the family, linear attention",
                                 "the rung reduced knows no other states"));

const Control larger = sheet.control("larger", "the size a tenth larger");
const Control values_only = sheet.control("values-alone", "the component along A left out");
const Control rest_point =
    sheet.control("rest-point", "the end creeps to (1.1, 1.1) in place of (1, 1)");

const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the shortest context", 3e3, 1e5, 1e4));
const Knob shortness = sheet.knob(short_context);
const Knob direction_knob = sheet.knob(linear_knob(
    "direction", "angle of the perturbation, from -V to -A, over a right angle", 0.1, 0.9, 0.5));
const Knob residual_knob =
    sheet.knob(linear_knob("residual", "sqrt(<W,W>/K_P) over the perturbation along P", 0, 2, 1));

// A perturbation of unit size in (alpha_V, alpha_A), and W with it.
struct Perturbation {
  double value = 0, attention = 0, residual = 0;
  [[nodiscard]] Vector<double> times(double size, double transition) const {
    return Vector<double>{
        {size * value, size * attention, transition * std::pow(size * value * residual, 2)}};
  }
  // y of the unit perturbation.
  [[nodiscard]] double along_growth(const Sizes& sizes) const {
    return value + (sizes.context - 1 / sizes.positions) / sizes.rate() * attention;
  }
  // The size at which y = -1/(T g).
  [[nodiscard]] double derived_size(const Sizes& sizes) const {
    return -1 / (sizes.positions * sizes.rate() * along_growth(sizes));
  }
};

// Until (alpha_V, alpha_A) has left 0 and settled, T x after it.
Solved settled(Sizes sizes, const Perturbation& perturbation, double size) {
  constexpr double tolerance = 1e-11;
  sizes.start = perturbation.times(size, sizes.transition);
  const double time = sizes.time_to(noticed_share) + sizes.time_to_settle();
  return {per_length(sizes), {time}, tolerance};
}

// The size at which the branch changes, by bisection, times the size derived: 1 as T grows.
Quantity critical_size(const Sizes& sizes, const Perturbation& perturbation) {
  const double derived = perturbation.derived_size(sizes);
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

// By how much of itself a delay of the creep
//   v' = (1 - v)/T v^4/(kappa + v^4),  v^4 = kappa at first,
// changes in v and in 1/v while runs settle, to first order in 1/T.
double aged(const Sizes& sizes) {
  return std::max(std::fabs(1 / balanced(sizes) - 1.5), 0.5) * sizes.time_to_settle() /
         sizes.positions;
}

// How far half of the critical size moves alpha_V and alpha_A at the end of the growth, times
// T g/ln 2.
std::vector<Quantity> moved(const Sizes& sizes, const Perturbation& perturbation) {
  const Solved usual = settled(sizes, perturbation, 0);
  const Solved perturbed = settled(sizes, perturbation, perturbation.derived_size(sizes) / 2);
  std::vector<Quantity> by;
  for (const Index i : {0, 1}) {
    const auto coefficient = [i](const Vector<double>& x) { return x[i]; };  // times T
    by.push_back((perturbed.at(0, coefficient) - usual.at(0, coefficient)) *
                 Quantity(sizes.rate() / std::numbers::ln2));
  }
  return by;
}

// From a T at which runs creep by a tenth at most while they settle.
void judge_moved(const Sizes& sizes, const Perturbation& perturbation, Examination& it) {
  const Sizes first = sizes.longer(std::max(1.0, aged(sizes) / noticed_share));
  const double v = balanced(sizes);
  const auto at_length = [&](double part) { return moved(first.longer(1 / part), perturbation); };
  const std::vector<Quantity> found = limits_of(at_length, 1, 2, 3);
  it.judge(harmless, equal("what half of it moves the end of the growth by, times T g/ln 2")
                         .add("alpha_V", found[0], -(1 - v) / 2)
                         .add("alpha_A", found[1], (1 - v) / (2 * v * v))
                         .in_units_of({(1 + v) / 2, (1 + v) / (2 * v * v)})
                         .with(fmt::format("from T = {:.3g}", first.positions))
                         .unless(rest_point, {{-(1.1 - v) / 2, (1 - 1.1 * v) / (2 * v * v)}}));
}

void examine(const Setting& setting, Examination& it) {
  Sizes sizes = examined_sizes(setting, setting.value(length), 0, nullptr);
  sizes.start.setZero();
  it.parameters = parameters_of(sizes, setting);
  const double left_out = sizes.leftover(1 - noticed_share);
  if (!it.require(long_context, noticed_share - left_out,
                  fmt::format("left out {:.3g}, allowed {:.3g}", left_out, noticed_share))) {
    return;
  }
  const double angle = std::numbers::pi / 2 * setting.value(direction_knob);
  const Perturbation perturbation{-std::cos(angle) / std::sqrt(sizes.transition),
                                  -std::sin(angle) / std::sqrt(sizes.context),
                                  setting.value(residual_knob)};
  const Quantity here = critical_size(sizes, perturbation);
  const auto at_length = [&](double part) {
    return part == 1 ? here : critical_size(sizes.longer(1 / part), perturbation);
  };
  it.judge(allowed,
           equal("perturbation that changes the branch over what is derived",
                 limit_of(at_length, 1, 2, 3), 1)
               .with(fmt::format("{:.6g} at T = {:.3g}", here.value(), sizes.positions))
               .unless(larger, times(1.1))
               .unless(values_only, perturbation.along_growth(sizes) / perturbation.value));
  judge_moved(sizes, perturbation, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::perturbed_start
