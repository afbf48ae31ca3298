#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/softmax_growth_parts.hpp"

namespace popgrad::joma::checks::softmax_growth {
namespace {

Statement sheet{.id = "joma.softmax-growth",
                .paper = "arXiv 2310.00535, Theorem 2 and Fig 3",
                .status = "observed in source; the law for softmax attention is ours",
                .about = "full-batch descent",
                .theorem = R"(
Linear phi, softmax attention. Theorem 2's law of growth with E[g x] of the start,
  v' = E[g x] o a,  a = exp(z/T)/(E[x].exp(z/T)),
and z from Theorem 1 where b_bar = E[x] o a factors out,
  T z' = sum_k (v_k o v_k' - b_bar v_k.v_k'),
is on its best clock nearer to the weights than E[g x] with attention as it starts, at its best
rate, where (1/2) sum_k v_k^2/T^2 has come to range over 1/4, 1/2 and 1 between tokens. With
gradients and logits of the time,
  v' = E[g x](t) o exp(z(t)/T)/(E[x].exp(z(t)/T)),
it is nearer where that ranges over 2 as well. Without the normaliser, on the clock of exp attention,
the law of the start is farther at 1/2. The data are the authors', steps of descent are 0.1.)",
                .reaches = {EvidenceKind::numerical},
                .false_version = "no-attention"};

const Clause own_law = sheet.clause(
    "softmax attention: weights grow nearer to Theorem 2's law than with attention as it starts, "
    "as "
    "its exponent ranges over 1/4, 1/2 and 1");
const Clause of_the_time = sheet.clause("with gradients and logits of the time also over 2");
const Clause other_clock = sheet.clause("not on the clock of exp attention");
[[maybe_unused]] const Clause whole_figure = sheet.not_checked("over all 2000 steps of Fig 3");

const Hypothesis linear_phi =
    sheet.assume(by_construction("linear `phi`", "the run is that of the authors' script"));
const Hypothesis softmax_attention = sheet.assume(by_construction("softmax attention", "likewise"));
const Hypothesis small_start = sheet.assume("a small start");

const Control no_half = sheet.control("no-half", "`sum_k v_k^2` without its half in the logits");
const Control own_clock = sheet.control("own-clock", "the clock of exp attention");

const Rival no_attention = sheet.rival(
    "no-attention", "weights grow along their gradients with attention as it starts", "a rate");

const Knob temperature =
    sheet.knob(logarithmic_knob("temperature", "of attention", 0.35, 0.8, 0.5));
const Knob law_of_tokens =
    sheet.knob(whole_knob("law", "of tokens: 0 Gaussian, 1 uniform", 0, 1, 0));
const Knob start_size =
    sheet.knob(logarithmic_knob("start", "of v(0), in units of the authors'", 5, 100, 1)
                   .breaking(small_start));

constexpr double law_tolerance = 1e-9;
constexpr std::uint64_t latest = 20000;
// Of (1/2) sum_k v_k^2/T^2 over the tokens. Before, E[g x] changes by more than attention does, which
// is of second order in the time.
const std::vector<double> ranges{0.25, 0.5, 1, 2};
constexpr std::size_t ranges_of_start = 3;  // at which E[g x] of the start is judged
constexpr std::size_t middle = 1;

// Of the law with softmax attention, over all clocks, at the first of the ranges.
std::vector<Quantity> misses_on_best_clock(const ClassInstance<double>& instance,
                                           const GrowthRun& run, double halves) {
  const double tolerance = refined_tolerance(law_tolerance);
  const double end = growth_step * run.step[ranges_of_start - 1];
  const GrowthLaw sharp = growth_law(instance, Attention::softmax, end, halves, tolerance);
  const GrowthLaw loose = growth_law(instance, Attention::softmax, end, halves, 100 * tolerance);
  std::vector<Quantity> misses;
  for (std::size_t i = 0; i < ranges_of_start; ++i) {
    const NearestGrowth found = nearest(sharp, run.v[i]);
    misses.emplace_back(found.miss,
                        std::vector{ErrorPart::solver(found.miss, nearest(loose, run.v[i]).miss),
                                    ErrorPart::between_points(found.gap)});
  }
  return misses;
}

Quantity miss_on_exp_clock(const ClassInstance<double>& instance, const Matrix<double>& v,
                           double end) {
  const double tolerance = refined_tolerance(law_tolerance);
  const double sharp = miss_at(growth_law(instance, Attention::exp, end, 0.5, tolerance), v, end);
  const double loose =
      miss_at(growth_law(instance, Attention::exp, end, 0.5, 100 * tolerance), v, end);
  return {sharp, std::vector{ErrorPart::solver(sharp, loose)}};
}

std::vector<Quantity> over(std::vector<Quantity> misses, const std::vector<Quantity>& others) {
  misses.resize(std::min(misses.size(), others.size()));
  for (std::size_t i = 0; i < misses.size(); ++i) misses[i] = misses[i] / others[i];
  return misses;
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
  const GrowthRun run = growth_run(instance, latest, latest, ranges);
  if (run.range.back() < ranges.back()) throw Failure("the exponent does not range that far");
  const Matrix<double> v0 = instance.weights.topRows(instance.tokens());
  const double share = v0.norm() / run.v[middle].norm();
  it.require(small_start, 0.3 - share, fmt::format("{:.3g} of what `v` becomes", share));

  std::vector<std::string> places;
  std::vector<Quantity> straight;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    places.push_back(fmt::format("a range of {}, step {:.0f}", ranges[i], run.step[i]));
    straight.emplace_back(nearest_straight(instance, run.v[i]));
  }
  const std::vector<Quantity> law = misses_on_best_clock(instance, run, 0.5);
  it.judge(
      own_law,
      below("miss of the law over that of attention as it starts", over(law, straight), 1)
          .at(std::vector(places.begin(), places.begin() + ranges_of_start))
          .unless(no_half, [&] { return over(misses_on_best_clock(instance, run, 1), straight); })
          .against(no_attention, [&] { return over(straight, law); }));
  const auto along = [&](const std::vector<Matrix<double>>& ways) {
    std::vector<Quantity> misses;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      misses.emplace_back(miss_at_best_rate(ways[i], run.v[i], v0));
    }
    return misses;
  };
  const std::vector<Quantity> attended = along(run.attended);
  const std::vector<Quantity> unattended = along(run.unattended);
  it.judge(of_the_time,
           below("the same, gradients and logits of the time", over(attended, unattended), 1)
               .at(places)
               .unless(no_half, [&] { return over(along(run.doubled), unattended); })
               .against(no_attention, [&] { return over(unattended, attended); }));
  const Quantity on_exp_clock =
      miss_on_exp_clock(instance, run.v[middle], growth_step * run.step[middle]);
  it.judge(other_clock,
           below("miss of attention as it starts over that of the law on the exp clock",
                 straight[middle] / on_exp_clock, 1)
               .at(places[middle])
               .unless(own_clock, [&] { return on_exp_clock / straight[middle]; }));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    it.report("miss of attention as it starts, of the change of `v`", straight[i].value(),
              places[i]);
    if (i < law.size())
      it.report("of the law with `E[g x]` of the start", law[i].value(), places[i]);
    it.report("of the law with gradients and logits of the time", attended[i].value(), places[i]);
  }
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::softmax_growth
