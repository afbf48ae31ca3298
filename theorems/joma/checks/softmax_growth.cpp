#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/softmax_growth_parts.hpp"

namespace popgrad::joma::checks::softmax_growth {
namespace {

Statement sheet{.id = "joma.softmax-growth",
                .paper = "arXiv 2310.00535, Theorem 2 and Fig 3",
                .status = "observed in source; the law of its clock is ours",
                .about = "full-batch descent",
                .theorem = R"(
Linear phi, softmax attention: with E[g x] of the start, Theorem 2's law of growth
  v' = E[g x] o exp(sum_k v_k^2/tau)
on its best clock is nearer to the weights, as the exponent has come to range over 1/2, than the
same law with twice the exponent; on the clock of exp attention it is farther than straight
lines, the weights of uniform attention. Reported without a bar: its distance, 0.028 of the
change of v in the median, at most 0.0502 in 100 drawn instances (--seed 97
--set law=1 --set temperature=0.7015). The data are the authors', steps of descent are 0.1.)",
                .reaches = {EvidenceKind::numerical}};

const Clause own_law = sheet.clause(
    "softmax attention: weights first grow nearer to Theorem 2's law than with twice its exponent");
const Clause other_clock = sheet.clause("on another clock than exp attention");

const Hypothesis linear_phi =
    sheet.assume(by_construction("linear phi", "the run is that of the authors' script"));
const Hypothesis softmax_attention = sheet.assume(by_construction("softmax attention", "likewise"));
const Hypothesis small_start = sheet.assume("a small start");

const Control no_half = sheet.control("no-half", "sum_k v_k^2 without its half in the logits");
const Control own_clock = sheet.control("own-clock", "the clock of exp attention");

const Knob temperature =
    sheet.knob(logarithmic_knob("temperature", "of attention", 0.35, 0.8, 0.5));
const Knob law_of_tokens =
    sheet.knob(whole_knob("law", "of tokens: 0 Gaussian, 1 uniform", 0, 1, 0));
const Knob start_size =
    sheet.knob(logarithmic_knob("start", "of v(0), in units of the authors'", 5, 100, 1)
                   .breaking(small_start));

constexpr double law_tolerance = 1e-9;
constexpr double judged_range = 0.5;
constexpr double reported_range = 2;
constexpr std::uint64_t latest = 20000;

// The least miss over all clocks.
Quantity miss_on_best_clock(const ClassInstance<double>& instance, const Matrix<double>& v,
                            double end, double halves) {
  const double tolerance = refined_tolerance(law_tolerance);
  const NearestGrowth sharp = nearest(growth_law(instance, end, halves, tolerance), v);
  const NearestGrowth loose = nearest(growth_law(instance, end, halves, 100 * tolerance), v);
  return {sharp.miss, std::vector{ErrorPart::solver(sharp.miss, loose.miss),
                                  ErrorPart::between_points(sharp.gap)}};
}

Quantity miss_on_exp_clock(const ClassInstance<double>& instance, const Matrix<double>& v,
                           double end) {
  const double tolerance = refined_tolerance(law_tolerance);
  const double sharp = miss_at(growth_law(instance, end, 0.5, tolerance), v, end);
  const double loose = miss_at(growth_law(instance, end, 0.5, 100 * tolerance), v, end);
  return {sharp, std::vector{ErrorPart::solver(sharp, loose)}};
}

void examine(const Setting& setting, Examination& it) {
  const bool gaussian = setting.count(law_of_tokens) == 0;
  ClassInstance<double> instance =
      invariant_instance(gaussian ? TokenLaw::gaussian : TokenLaw::uniform, setting.seed);
  instance.temperature = setting.value(temperature);
  instance.weights *= setting.value(start_size);
  it.parameters = {{"law", gaussian ? "gaussian" : "uniform"},
                   {"temperature", instance.temperature},
                   {"seed", std::to_string(setting.seed)}};
  const GrowthRun run = growth_run(instance, latest, latest, judged_range);
  const Matrix<double>& v = run.v.back();
  const double end = growth_step * run.step.back();
  const double share = instance.weights.topRows(instance.tokens()).norm() / v.norm();
  it.require(small_start, 0.3 - share, fmt::format("{:.3g} of what v becomes", share));
  const Quantity law_miss = miss_on_best_clock(instance, v, end, 0.5);
  const Quantity doubled = miss_on_best_clock(instance, v, end, 1);
  const Quantity on_exp_clock = miss_on_exp_clock(instance, v, end);
  const double straight = nearest_straight(instance, v);
  it.judge(own_law, below("miss of the law over that with twice the exponent, best clocks",
                          law_miss / doubled, 1)
                        .unless(no_half, [&] { return doubled / law_miss; }));
  it.judge(other_clock, below("miss of straight lines over that of the law on the exp clock",
                              Quantity(straight) / on_exp_clock, 1)
                            .unless(own_clock, [&] { return on_exp_clock / Quantity(straight); }));
  it.report("miss on the best clock", law_miss.value(),
            fmt::format("at step {:.0f}", run.step.back()));
  it.report("miss on the clock of exp attention", on_exp_clock.value());
  it.report("miss of straight lines", straight);
  const GrowthRun longer = growth_run(instance, latest, latest, reported_range);
  const GrowthLaw law = growth_law(instance, growth_step * longer.step.back(), 0.5, law_tolerance);
  it.report("miss on the best clock at a range of 2", nearest(law, longer.v.back()).miss,
            fmt::format("of straight lines {:.3g}, at step {:.0f}",
                        nearest_straight(instance, longer.v.back()), longer.step.back()));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::softmax_growth
