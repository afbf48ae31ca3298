#include <array>
#include <functional>

#include "theorems/scb/checks/plain_runs.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"

namespace popgrad::scb::checks::l1_needed {
namespace {

Statement sheet{.id = "scb.l1-needed",
                .paper = "arXiv 2410.23438, Section 6",
                .status = "observed in source",
                .about = "SGD with Gaussian noise",
                .theorem = R"(
At a small batch threshold and l1 steps come nearer to P and Q than plain SGD does, and than a
threshold with plain steps of their size behind it. Plain SGD is kept away without noise as well: it
settles where K_P alpha_V^2 = K_Q alpha_A^2, and only creeps from there to (1, 1). The threshold, which
sets sum_t a^k_t to 1, mends that. But plain steps sustain, up to O(1/T), the noise of all positions,
  |a^k off the support|^2 = eta T sigma_{A,k}^2/(K_P B (2 - eta <V,V>)),
also behind a threshold, and it feeds back on V by d = sum_k mu_k |a^k|^2; l1 steps do not have it.
Plain SGD runs at eta = 0.04, 0.02, 0.01 and 0.005. Nearer is judged by the larger of the two
normalised distances, each over its start, after 4000 steps; lambda is the geometric mean of the
noise of l1 steps and of q_min K_P.)",
                .hypotheses = {from_scratch_text},
                .reaches = {EvidenceKind::statistical},
                .false_version = "threshold-only",
                .reads = "reduced"};

const Clause nearer = sheet.clause(
    "at a small batch threshold and `l1` steps come nearer than plain SGD at four `eta`");
const Clause than_threshold = sheet.clause("and than a threshold with plain steps behind it");
const Clause sustained =
    sheet.clause("SGD sustains `eta T sigma_A^2/(K_P B (2 - eta <V,V>))` in `A`");

const Clause on_sequences = sheet.not_checked("the same on sequences");

const Hypothesis small_batch =
    sheet.assume({"small batch", Basis::evaluated,
                  "at the largest `eta` that noise of plain SGD exceeds `K_Q`"});
const Hypothesis equal_samples = sheet.assume("the same number of samples");
const Hypothesis quiet_steps =
    sheet.assume("the noise of `l1` steps, `sigma_A sqrt(eta_2 K_P/B)`, below `q_min K_P`");
const Hypothesis part_two_begins = sheet.assume(
    {"without noise, part 2 begins within the run", Basis::evaluated,
     "else no `l1` step is made: at `T = 524`, `B = 7`, `K_P = 9.6e-4` plain steps of 0.005 stay "
     "where "
     "they begin, nearer in 95 % of the runs than steps of 0.02 of part 1, at 1.7 times that "
     "distance"});

const Control larger_noise = sheet.control("noise", "the noise of plain SGD 10 % larger");
const Control damping = sheet.control("damping", "the 2 in it left out");

const Rival threshold_only =
    sheet.rival("threshold-only",
                "the threshold does it: plain steps behind it come nearer than `l1` steps do");

const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 500, 5000, 1000));
const Knob batch_share = sheet.knob(
    logarithmic_knob("batch-share", "B/T, sequences of a step over positions", 0.0128, 0.03, 0.02));
const Knob large_batch = sheet.knob(
    logarithmic_knob("large-batch-share", "B/T of batches that are not small", 2, 2000, 0)
        .breaking(small_batch));
const Knob share_of_samples =
    sheet.knob(logarithmic_knob("share-of-samples",
                                "samples that threshold and l1 get, of those of SGD", 0.01, 0.9, 1)
                   .breaking(equal_samples));

constexpr std::uint64_t all_steps = 4000;
constexpr double boost_step = 0.02;  // of part 1
constexpr double l1_step = 0.002;
constexpr std::uint32_t rounds = 8;  // of runs, until the share is known to differ from 1/2
constexpr std::array step_sizes{0.04, 0.02, 0.01, 0.005};

NoisyTraining drawn_setup(const Setting& setting, Examination& it) {
  NoisyTraining setup;
  setup.training = scratch_instance(setting, length, support_knob, it);
  const Bigrams<double>& b = setup.training.bigrams;
  setup.levels = levels_of_shape(b, NoiseShape::multiplicative);
  const double share = std::max(setting.value(large_batch), setting.value(batch_share));
  setup.batch = std::max<Index>(1, std::llround(share * static_cast<double>(b.context)));
  it.parameters["B"] = setup.batch;
  return setup;
}

// lambda; requires the hypotheses.
double l1_weight_of(const NoisyTraining& setup, const Setting& setting, Examination& it) {
  const Bigrams<double>& b = setup.training.bigrams;
  const double transition = transition_size(b);
  const double of_plain = sustained_noise(setup, step_sizes.front());
  it.require(small_batch, of_plain - context_size(b),
             fmt::format("noise {:.3g}, `K_Q = {:.3g}`", of_plain, context_size(b)));
  it.require(equal_samples, setting.value(share_of_samples) - 1);
  const double pull = b.law.minCoeff() * transition;
  const double noise = setup.levels.attention.maxCoeff() *
                       std::sqrt(l1_step * transition / static_cast<double>(setup.batch));
  it.require(quiet_steps, pull - noise, fmt::format("{:.3g} against {:.3g}", noise, pull));
  return std::sqrt(noise * pull);
}

// Requires that there are threshold and l1 steps at all: what has not left part 1 is nowhere near
// P and Q.
void require_part_two(NoisyTraining setup, const Schedule& schedule, std::uint64_t steps,
                      const Setting& setting, Examination& it) {
  setup.batch = 0;
  const Trajectory<double> run = runs_of(setup, schedule, boost_step, {0, steps}, setting).front();
  const Vector<double>& end = run.states.back();
  const bool begun = part_of(end) != Part::boost;
  const double reached = run.column("alpha_A").back() / boost_goal(schedule, setup.training);
  it.require(part_two_begins,
             begun ? end[end.size() - 1] / static_cast<double>(steps) : std::min(reached - 1, 0.0),
             begun ? fmt::format("{:.0f} of {} steps in part 2", end[end.size() - 1], steps)
                   : fmt::format("alpha_A comes to {:.3g} of what ends part 1", reached));
}

void judge_noise(const NoisyTraining& setup, const Schedule& plain, const Setting& setting,
                 Examination& it) {
  constexpr double step = step_sizes.front();
  const auto runs = runs_of(setup, plain, step, {2 * all_steps, 4 * all_steps}, setting);
  Quantity noise = noise_of_plain(setup, runs, step, 1, setting);
  noise.add(ErrorPart::next_order(missing_after_as_long(setup, runs, step, 0, setting)));
  it.judge(sustained, equal("noise of plain SGD over what is sustained", noise, 1)
                          .of_kind(EvidenceKind::statistical)
                          .unless(larger_noise, times(1.1))
                          .unless(damping, times(2)));
}

void examine(const Setting& setting, Examination& it) {
  const NoisyTraining setup = drawn_setup(setting, it);
  Schedule schedule;
  schedule.l1_step = l1_step;
  schedule.l1_weight = l1_weight_of(setup, setting, it);
  const auto steps = static_cast<std::uint64_t>(setting.value(share_of_samples) * all_steps);
  require_part_two(setup, schedule, steps, setting, it);
  Schedule plain;
  plain.boost_until = std::numeric_limits<double>::max();
  plain.boost_steps = 8 * all_steps;  // not within the run
  judge_noise(setup, plain, setting, it);
  const auto plain_distances = [&](double step) {
    return [&, step](std::uint32_t round) {
      return worse_distances(runs_of(setup, plain, step, {0, all_steps}, setting, round), 1);
    };
  };
  std::vector<std::vector<double>> l1;  // by round
  // Share of runs in which the others come nearer than l1 steps, until it is known to differ from 1/2.
  const auto share_of = [&](const std::function<std::vector<double>(std::uint32_t)>& distances) {
    Quantity share;
    std::vector<double> of_others;
    std::vector<double> of_l1;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      if (l1.size() == round) {
        l1.push_back(
            worse_distances(runs_of(setup, schedule, boost_step, {0, steps}, setting, round), 1));
      }
      of_l1.insert(of_l1.end(), l1[round].begin(), l1[round].end());
      const std::vector<double> more = distances(round);
      of_others.insert(of_others.end(), more.begin(), more.end());
      share = share_nearer(of_others, of_l1, setting.false_alarm / rounds);
      if (std::abs(share.value() - 0.5) > share.error()) break;
    }
    return share;
  };
  Comparison shares =
      below("share of runs in which plain SGD comes nearer than threshold and `l1` steps");
  for (const double step : step_sizes) {
    shares.add(fmt::format("`eta = {}`", step), share_of(plain_distances(step)), 0.5);
    it.report("distance that plain SGD has without noise, over its start",
              quiet_distance(setup, plain, step, all_steps, setting),
              fmt::format("`eta = {}`", step));
  }
  it.judge(nearer, shares.of_kind(EvidenceKind::statistical));
  const Quantity behind_threshold = share_of([&](std::uint32_t round) {
    return distances_without_l1(setup, schedule, boost_step, steps, setting, round);
  });
  it.judge(than_threshold,
           below("share of runs in which threshold and plain steps come nearer than `l1` steps",
                 behind_threshold, 0.5)
               .of_kind(EvidenceKind::statistical)
               .against(threshold_only, [&] { return Quantity(1) - behind_threshold; }));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::l1_needed
