#include <map>
#include <numbers>

#include "theorems/scb/checks/growth.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::perturbed_start {
namespace {

Statement sheet{.id = "scb.perturbed-start",
                .paper = "arXiv 2410.23438, the start `A = 1/T`, `V = mu 1'`",
                .status = "claimed in source, bound derived here",
                .about = "the reduced flow",
                .theorem = R"(
A perturbation of the start A = 1/T, V = mu 1' by alpha_V and alpha_A of order 1/T and by W of any size,
w = <W,W>, does no harm as long as it does not undo the drift 1/T. W decays at the rate 1/T and
outlasts the growth, which is slower with it, at the rate g,
  g (g + w) = K_P K_Q.
The run takes the right branch iff
  y(0) > -1/(T g),  y = alpha_V + l alpha_A,  l = K_Q/(g + w),
up to O(1/T): what is allowed of y shrinks as 1/T. On the wrong branch alpha_V and alpha_A are both
negative. The growth ends, before the creep (scb.fixed-points), at alpha_V = v, alpha_A = 1/v,
  K_P v^2 - K_Q/v^2 = w,
farther from (1, 1) or nearer than without W. Half of what is allowed delays growth by ln 2/g and moves
this end by
  alpha_V: -c ln 2/(T g),  alpha_A: c/v^2 ln 2/(T g),  c = (K_P v^2 (1 - v) + w v)/(K_P v^2 + K_Q/v^2),
up to O(ln T/T^2): as 1/T, or as 1/T^2 where w = 0 and K_P = K_Q.)",
                .reaches = {EvidenceKind::numerical},
                .false_version = "inert-W",
                .knobs = {transition_size_knob, context_size_knob},
                .reads = "reduced"};

const Clause allowed =
    sheet.clause("a perturbation of the start keeps the branch below a size that shrinks as `1/T`");
const Clause harmless = sheet.clause("half of it moves the end of the growth as `1/T`");
const Clause residual_counts = sheet.clause("`W` of any size slows the growth and moves its end");
const Clause off_family =
    sheet.not_checked("perturbations of `A` off the family, and noise (`scb.branch`)");

const Hypothesis long_context = sheet.assume(
    {"`T` large", Basis::evaluated, "the formulas leave out less than has to be noticed"});
const Hypothesis on_family =
    sheet.assume(by_construction("`1'V = 1'`, `V mu = mu`, `A` on the family, linear attention",
                                 "the rung reduced has no other states"));

const Control larger = sheet.control("larger", "the size a tenth larger");
const Control values_only = sheet.control("values-alone", "the component along `A` left out");
const Control rest_point =
    sheet.control("rest-point", "the end creeps to (1.1, 1.1) in place of (1, 1)");
const Control farther = sheet.control("farther", "`v` a tenth larger");

const Rival inert = sheet.rival("inert-W", "`W` of any size decays and does nothing");
const Rival logarithm =
    sheet.rival("logarithm", "what is allowed shrinks as `1/(T ln T)`", "a factor");

const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the shortest context", 3e3, 1e5, 1e4));
const Knob shortness = sheet.knob(short_context);
const Knob direction_knob = sheet.knob(linear_knob(
    "direction", "angle of the perturbation, from -V to -A, over a right angle", 0.1, 0.9, 0.5));
const Knob residual_knob = sheet.knob(linear_knob("residual", "sqrt(<W,W>/K_P)", 0, 2, 1));

// Growth from a start with W.
struct Growth {
  Sizes sizes;
  double residual = 0;  // w

  [[nodiscard]] Growth longer(double factor) const { return {sizes.longer(factor), residual}; }
  [[nodiscard]] Growth without_residual() const { return {sizes, 0}; }
  // g, with the terms of order 1/T that are there without W:
  //   (g + 1/T) (g + w) = K_P (K_Q - 1/T)
  [[nodiscard]] double rate() const {
    const double creep = 1 / sizes.positions;
    const double sum = residual + creep;
    const double product = sizes.transition * (sizes.context - creep) - residual * creep;
    return 2 * product / (sum + std::sqrt(sum * sum + 4 * product));
  }
  // v
  [[nodiscard]] double end() const {
    const double root = std::hypot(residual, 2 * std::sqrt(sizes.transition * sizes.context));
    return std::sqrt((residual + root) / (2 * sizes.transition));
  }
  // Until alpha_V alpha_A, which grows as
  //   r (exp(g t)/(T g (1 + l r)))^2,  r = K_P/(g + w),  l r = g/(g + w),
  // is 1 - noticed_share, and then until w and what the product misses 1 by, which fall at 2 K_Q/v^2
  // or faster, are below rounding.
  [[nodiscard]] double time() const {
    const double grown = sizes.positions * rate() * (1 + rate() / (rate() + residual));
    const double left = 2 * sizes.context / (end() * end());
    return std::log((1 - noticed_share) / noticed_share * grown * grown * (rate() + residual) /
                    sizes.transition) /
               (2 * rate()) +
           std::log(sizes.positions / std::numeric_limits<double>::epsilon()) / left;
  }
  // By how much of itself the product misses pure growth where it is 1 - noticed_share.
  [[nodiscard]] double leftover() const {
    if (!(rate() > 0)) return std::numeric_limits<double>::infinity();
    return std::sqrt(noticed_share / (1 - noticed_share) * sizes.transition / (rate() + residual)) /
           (sizes.positions * rate());
  }
  // From a T on at which by the end w has fallen, and the creep changed, by no more than this share of
  // itself while W was there.
  [[nodiscard]] Growth aged(double share) const {
    const double by = std::max(2.0, std::fabs(1 / end() - 1.5)) * time() / sizes.positions;
    return longer(std::max(1.0, by / share));
  }
};

// A perturbation of unit size in (alpha_V, alpha_A).
struct Perturbation {
  double value = 0, attention = 0;
  // The size at which y = -1/(T g).
  [[nodiscard]] double derived_size(const Growth& growth) const {
    const double l =
        (growth.sizes.context - 1 / growth.sizes.positions) / (growth.rate() + growth.residual);
    return -1 / (growth.sizes.positions * growth.rate() * (value + l * attention));
  }
};

// From alpha_V and alpha_A as given, and W: T x at `time`.
Solved solved(Growth growth, double value, double attention, double time) {
  constexpr double tolerance = 1e-11;
  growth.sizes.start << value, attention, growth.residual;
  return {per_length(growth.sizes), {time}, tolerance};
}
// Until (alpha_V, alpha_A) has left 0 and settled.
Solved settled(const Growth& growth, const Perturbation& perturbation, double size) {
  return solved(growth, size * perturbation.value, size * perturbation.attention, growth.time());
}

// T alpha_V and T alpha_A at the end of a solve.
std::vector<Quantity> ended(const Solved& run) {
  std::vector<Quantity> both;
  for (const Index i : {0, 1}) {
    both.push_back(run.at(0, [i](const Vector<double>& x) { return x[i]; }));
  }
  return both;
}

// The size at which the branch changes, by bisection, times the size derived: 1 as T grows.
Quantity critical_size(const Growth& growth, const Perturbation& perturbation) {
  const double derived = perturbation.derived_size(growth);
  double low = 0;
  double high = 2;
  constexpr int halvings = 24;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    const bool right = settled(growth, perturbation, middle * derived).state(0)[0] > 0;
    (right ? low : high) = middle;
  }
  return {(low + high) / 2, {ErrorPart::enclosure((high - low) / 2)}};
}

void judge_allowed(const Growth& growth, const Perturbation& perturbation, Examination& it) {
  const Growth first = growth.aged(noticed_share * noticed_share);
  std::map<double, Quantity> sizes;  // the bisections are most of the work
  const auto at_length = [&](double part) {
    const auto [size, added] = sizes.try_emplace(part);
    if (added) size->second = critical_size(first.longer(1 / part), perturbation);
    return size->second;
  };
  const double derived = perturbation.derived_size(first);
  const double of_values = Perturbation{perturbation.value}.derived_size(first);
  it.judge(allowed,
           equal("perturbation that changes the branch over what is derived",
                 limit_of(at_length, 1, 2, 3), 1)
               .with(fmt::format("from `T = {:.3g}`", first.sizes.positions))
               .unless(larger, times(1.1))
               .unless(values_only, of_values / derived)
               .against(inert, perturbation.derived_size(first.without_residual()) / derived));
  const auto allowed_size = [&](double part) {
    return at_length(part) * Quantity(perturbation.derived_size(first.longer(1 / part)));
  };
  const double of_logarithm =
      std::log2(std::log(4 * first.sizes.positions) / std::log(2 * first.sizes.positions));
  it.judge(allowed, equal("order in `1/T` of that perturbation", order_of(allowed_size, 1, 2, 3), 1)
                        .unless(larger, times(1.1))
                        .against(logarithm, 1 + of_logarithm));
}

// T alpha_V of the linear system with w as it is, without a perturbation along P and Q:
//   ((g + w)/g (e^{gt} - 1) + g/(g + w) (1 - e^{-(g + w) t}))/(2 g + w)
double grown(const Growth& growth, double time) {
  const double g = growth.rate();
  const double fall = g + growth.residual;
  return (fall / g * std::expm1(g * time) - g / fall * std::expm1(-fall * time)) / (g + fall);
}

// Three growth times after the start, and at the end.
void judge_residual(const Growth& growth, Examination& it) {
  const Growth first = growth.aged(noticed_share * noticed_share);
  const double time = 3 / first.rate();
  const auto at_length = [&](double part) {
    const Growth longer = first.longer(1 / part);
    const Quantity per_position(1 / longer.sizes.positions);
    std::vector<Quantity> found = ended(settled(longer, {}, 0));
    for (Quantity& number : found) number = number * per_position;
    found.push_back(ended(solved(longer, 0, 0, time)).front() / Quantity(grown(longer, time)));
    return found;
  };
  const std::vector<Quantity> found = limits_of(at_length, 1, 2, 3);
  const double v = first.end();
  const double without = first.without_residual().end();
  it.judge(residual_counts, equal("end of the growth with `W`")
                                .add("`alpha_V`", found[0], v)
                                .add("`alpha_A`", found[1], 1 / v)
                                .unless(farther, {{1.1 * v, 1 / (1.1 * v)}})
                                .against(inert, {{without, 1 / without}}));
  it.judge(residual_counts,
           equal("`alpha_V` after three times of growth with `W` over what is derived", found[2], 1)
               .unless(larger, times(1.1)));
}

// What half of the critical size moves the end of the growth by, times T g/ln 2.
void judge_moved(const Growth& growth, const Perturbation& perturbation, Examination& it) {
  const Growth first = growth.aged(noticed_share);
  const auto at_length = [&](double part) {
    const Growth longer = first.longer(1 / part);
    const double size = perturbation.derived_size(longer) / 2;
    const std::vector<Quantity> usual = ended(settled(longer, perturbation, 0));
    std::vector<Quantity> by = ended(settled(longer, perturbation, size));
    for (const std::size_t i : {0U, 1U}) {
      by[i] = (by[i] - usual[i]) * Quantity(longer.rate() / std::numbers::ln2);
    }
    return by;
  };
  const std::vector<Quantity> found = limits_of(at_length, 1, 2, 3);
  const double v = first.end();
  const double w = first.residual;
  const double of_values = first.sizes.transition * v * v;  // K_P v^2; K_Q/v^2 = K_P v^2 - w
  const auto moved = [&](double rest) {
    const double c = (of_values * (rest - v) + w * v) / (2 * of_values - w);
    return std::vector<Quantity>{-c, c / (v * v)};
  };
  const double most = (of_values * (1 + v) + w * v) / (2 * of_values - w);
  const std::vector<Quantity> predicted = moved(1);
  it.judge(harmless, equal("what half of it moves the end of the growth by, times `T g/ln 2`")
                         .add("`alpha_V`", found[0], predicted[0])
                         .add("`alpha_A`", found[1], predicted[1])
                         .in_units_of({most, most / (v * v)})
                         .with(fmt::format("from `T = {:.3g}`", first.sizes.positions))
                         .unless(rest_point, moved(1.1)));
}

void examine(const Setting& setting, Examination& it) {
  Growth growth{examined_sizes(setting, setting.value(length), 0, nullptr)};
  growth.residual = growth.sizes.transition * std::pow(setting.value(residual_knob), 2);
  it.parameters = parameters_of(growth.sizes, setting);
  it.parameters["w"] = growth.residual;
  const double left_out = growth.leftover();
  if (!it.require(long_context, noticed_share - left_out,
                  fmt::format("left out {:.3g}, allowed {:.3g}", left_out, noticed_share))) {
    return;
  }
  const double angle = std::numbers::pi / 2 * setting.value(direction_knob);
  const Perturbation perturbation{-std::cos(angle) / std::sqrt(growth.sizes.transition),
                                  -std::sin(angle) / std::sqrt(growth.sizes.context)};
  judge_allowed(growth, perturbation, it);
  judge_residual(growth, it);
  judge_moved(growth, perturbation, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::perturbed_start
