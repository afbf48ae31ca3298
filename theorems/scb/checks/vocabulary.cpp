#include <array>

#include "theorems/scb/checks/noisy_runs.hpp"
#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/checks/plain_runs.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::checks::vocabulary {
namespace {

Statement sheet{.id = "scb.vocabulary",
                .paper = "arXiv 2410.23438, reply 2 to the reviewers",
                .status = "observed in source, scaling derived here",
                .about = "SGD with Gaussian noise",
                .theorem = R"(
At every size N of the vocabulary, with settings that scale alike, which are eta sqrt(K_P K_Q),
lambda/(q_min <V,P>) and the noise that plain steps sustain over K_Q,
  |a^k off the support|^2 = eta T sigma_{A,k}^2/(K_P B (2 - eta <V,V>)),
threshold and l1 steps come nearer to P and Q than as many plain steps, and than a threshold with plain
steps of their size behind it. Plain steps settle away from (1, 1) without noise as well (where
K_P alpha_V^2 = K_Q alpha_A^2); it is behind the threshold that noise keeps them away. Nearer is judged
by the larger of the two normalised distances, each over its start; l1 steps also end nearer than half
way, in logarithms, from where l1 steps end on expected gradients to where plain steps do. The laws q^k
are even.)",
                .reaches = {EvidenceKind::statistical},
                .false_version = "threshold-only"};

const Clause beaten =
    sheet.clause("`l1` steps beat plain SGD at `N`, `2 N` and `5 N` tokens, settings scaled alike");
const Clause than_threshold = sheet.clause("and a threshold with plain steps behind it");
const Clause sustained =
    sheet.clause("SGD sustains `eta T sigma_A^2/(K_P B (2 - eta <V,V>))` in `A`");

const Clause short_contexts = sheet.not_checked("contexts of the paper, `T` up to `10^5`");

const Hypothesis scratch =
    sheet.assume(by_construction("`V(0) = mu 1'`", "every instance is made so"));
const Hypothesis above_noise = sheet.assume("`lambda` above `sigma_A sqrt(2 ln T/B)`");

const Control larger_noise = sheet.control("noise", "the noise of plain steps 10 % larger");
const Control one_batch = sheet.control("one-batch", "noise that does not depend on `N`");
const Control damping = sheet.control("damping", "the 2 in the noise left out");

const Rival threshold_only =
    sheet.rival("threshold-only",
                "the threshold does it: plain steps behind it come nearer than `l1` steps do");

const Knob smallest =
    sheet.knob(whole_knob("tokens", "tokens N of the smallest vocabulary", 3, 5, 4));
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 2e6, 1e7, 4e6));
const Knob positions = sheet.knob(support_knob);
const Knob step_knob =
    sheet.knob(logarithmic_knob("step", "learning rate eta times sqrt(K_P K_Q)", 0.05, 0.1, 0.1));
const Knob level = sheet.knob(
    logarithmic_knob("noise-share", "noise that plain steps sustain, over K_Q", 0.2, 0.5, 0.25));
const Knob weight_knob =
    sheet.knob(logarithmic_knob("l1-weight", "lambda over q_min <V,P>", 0.05, 0.2, 0.1));
const Knob light_weight =
    sheet.knob(logarithmic_knob("light-weight", "the same, too light; 0: l1-weight", 1e-6, 1e-4, 0)
                   .breaking(above_noise));

constexpr std::array growth{1, 2, 5};

struct Sized {
  NoisyTraining setup;
  double step = 0;
  Schedule l1, plain;
  std::uint64_t steps = 0;
};

Sized sized(const Setting& setting, Index tokens) {
  Sized made;
  made.setup.training =
      from_scratch(tokens, setting.count(length), setting.count(positions), setting.seed);
  Bigrams<double>& b = made.setup.training.bigrams;
  b.law.setConstant(1 / static_cast<double>(b.support(0)));
  made.setup.levels = levels_of_shape(b, NoiseShape::multiplicative);
  made.step = setting.value(step_knob) / std::sqrt(transition_size(b) * context_size(b));
  const double noise = sustained_noise(made.setup, made.step) / context_size(b);  // at B = 1
  made.setup.batch = std::llround(std::ceil(noise / setting.value(level)));
  const double light = setting.value(light_weight);
  made.l1 = part_two_schedule(b, (light > 0 ? light : setting.value(weight_knob)) * least_pull(b));
  made.l1.threshold = b.law.minCoeff() * boost_goal(made.l1, made.setup.training) / 2;
  made.l1.l1_steps = static_cast<std::uint64_t>(std::ceil(3 / (slowest_rate(b) * made.l1.l1_step)));
  made.steps = 2 * quiet_boost_steps(made.setup.training, made.l1, made.step) + made.l1.l1_steps;
  made.plain.boost_until = std::numeric_limits<double>::max();
  made.plain.boost_steps = 8 * made.steps;
  return made;
}

void examine(const Setting& setting, Examination& it) {
  it.parameters = {
      {"N", setting.count(smallest)}, {"T", setting.count(length)}, {"seed", setting.seed}};
  Comparison noise = equal("noise of plain steps over what is derived");
  Comparison shares = below("share of runs");
  Comparison cut =
      below("share of runs in which threshold and plain steps come nearer than `l1` steps");
  std::vector<Quantity> l1_nearer;
  std::vector<Quantity> with_first_batch;
  double first_batch = 0;
  for (const int ratio : growth) {
    const Index tokens_here = ratio * setting.count(smallest);
    const Sized made = sized(setting, tokens_here);
    const NoisyTraining& setup = made.setup;
    const double kick =
        highest_noise(setup.training.bigrams) / std::sqrt(static_cast<double>(setup.batch));
    const bool heavy = it.require_positive(
        above_noise, made.l1.l1_weight - kick,
        fmt::format("`N = {}`: {:.3g} against {:.3g}", tokens_here, made.l1.l1_weight, kick));
    if (!heavy) return;
    const auto plain =
        runs_of(setup, made.plain, made.step, {0, made.steps / 2, made.steps}, setting);
    const auto l1 = runs_of(setup, made.l1, made.step, {0, made.steps}, setting);
    Quantity own = noise_of_plain(setup, plain, made.step, 2, setting);
    own.add(ErrorPart::next_order(missing_after_as_long(setup, plain, made.step, 1, setting)));
    own.add(ErrorPart::next_order(lag_of_noise(setup, plain, made.step, 1, 2)));
    noise.add(fmt::format("N = {}", tokens_here), own, 1);
    const std::vector<double> far = worse_distances(plain, 2);
    const std::vector<double> near = worse_distances(l1, 1);
    const auto quiet_end = [&](const Schedule& schedule) {
      return quiet_distance(setup, schedule, made.step, made.steps, setting);
    };
    // Half way, on a logarithmic scale, from l1 steps to plain steps, both without noise.
    const double quiet_plain = quiet_end(made.plain);
    const double middle = std::sqrt(quiet_end(made.l1) * quiet_plain);
    const std::vector<double> halfway(near.size(), middle);
    shares.add(fmt::format("`N = {}`, plain steps nearer", tokens_here),
               share_nearer(far, near, setting.false_alarm), 0.5);
    shares.add(fmt::format("N = {}, l1 steps beyond {:.3g}", tokens_here, middle),
               share_nearer(halfway, near, setting.false_alarm), 0.5);
    const Quantity without_l1 =
        share_nearer(distances_without_l1(setup, made.l1, made.step, made.steps, setting), near,
                     setting.false_alarm);
    cut.add(fmt::format("N = {}", tokens_here), without_l1, 0.5);
    l1_nearer.push_back(Quantity(1) - without_l1);
    it.report("distance that plain steps have without noise, over its start", quiet_plain,
              fmt::format("N = {}", tokens_here));
    if (first_batch == 0) first_batch = static_cast<double>(setup.batch);
    with_first_batch.emplace_back(first_batch / static_cast<double>(setup.batch));
  }
  it.judge(beaten, shares.of_kind(EvidenceKind::statistical));
  it.judge(than_threshold, cut.of_kind(EvidenceKind::statistical).against(threshold_only, [&] {
    return l1_nearer;
  }));
  it.judge(sustained, noise.of_kind(EvidenceKind::statistical)
                          .unless(larger_noise, times(1.1))
                          .unless(damping, times(2))
                          .unless(one_batch, with_first_batch));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::vocabulary
