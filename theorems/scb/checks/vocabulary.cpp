// Theorem    scb.vocabulary
// Status     observed in source, scaling derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, reply 2 to the reviewers
// Statement  the same holds whatever the size N of the vocabulary, with settings that scale alike:
//            eta sqrt(K_P K_Q), lambda/(q_min <V,P>) and the noise that plain steps sustain,
//              |a^k off the support|^2 = eta T sigma_{A,k}^2/(K_P B (2 - eta <V,V>)),
//            over K_Q the same at every N. Threshold and l1 steps then come nearer to P and Q than
//            as many plain steps, which that noise keeps away
// Hypotheses H1 V(0) = mu 1'; H2 lambda above sigma_A sqrt(2 ln T/B)
// Check      at N, 2 N and 5 N, q^k even: that noise; share of runs in which plain steps come
//            nearer, and in which l1 steps end farther than half way, in logarithms, from where
//            l1 steps end on expected gradients to where plain steps do
// Controls   the noise 10 % larger; noise that does not depend on N; the 2 left out
// Uses       rung noisy-lumped, plain and three-part

#include <array>

#include "theorems/scb/checks/noisy_runs.hpp"
#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/checks/plain_runs.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::checks::vocabulary {
namespace {

constexpr const char* quiet_text = "lambda above sigma_A sqrt(2 ln T/B)";
constexpr std::array growth{1, 2, 5};

constexpr Knob smallest = whole_knob("tokens", "tokens N of the smallest vocabulary", 3, 5, 4);
constexpr Knob length = logarithmic_knob("length", "positions T of the context", 2e6, 1e7, 4e6);
constexpr Knob step_knob =
    logarithmic_knob("step", "learning rate eta times sqrt(K_P K_Q)", 0.05, 0.1, 0.1);
constexpr Knob level =
    logarithmic_knob("noise-share", "noise that plain steps sustain, over K_Q", 0.2, 0.5, 0.25);
constexpr Knob weight_knob =
    logarithmic_knob("l1-weight", "lambda over q_min <V,P>", 0.05, 0.2, 0.1);
constexpr Knob light_weight =
    logarithmic_knob("light-weight", "the same, too light; 0: l1-weight", 1e-6, 1e-4, 0)
        .breaking(quiet_text);

struct Sized {
  NoisyTraining setup;
  double step = 0;
  Schedule l1, plain;
  std::uint64_t steps = 0;
};

Sized sized(const Setting& setting, Index tokens) {
  Sized made;
  made.setup.training =
      from_scratch(tokens, setting.count(length), setting.count(support_knob), setting.seed);
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
  Comparison noise{.kind = EvidenceKind::statistical,
                   .what = "noise of plain steps over what is derived",
                   .predicted = {1.0},
                   .mistakes = {predicts("noise", 1.1), predicts("damping", 2.0)}};
  Comparison shares{.kind = EvidenceKind::statistical,
                    .what = "share of runs",
                    .relation = Relation::below,
                    .predicted = {0.5}};
  std::vector<Quantity> one_batch;
  double first_batch = 0;
  for (const int times : growth) {
    const Index tokens_here = times * setting.count(smallest);
    const Sized made = sized(setting, tokens_here);
    const NoisyTraining& setup = made.setup;
    const double kick =
        highest_noise(setup.training.bigrams) / std::sqrt(static_cast<double>(setup.batch));
    it.require_positive(
        quiet_text, made.l1.l1_weight - kick,
        fmt::format("N = {}: {:.3g} against {:.3g}", tokens_here, made.l1.l1_weight, kick));
    if (!(made.l1.l1_weight > kick)) return;
    const auto plain =
        runs_of(setup, made.plain, made.step, {0, made.steps / 2, made.steps}, setting);
    const auto l1 = runs_of(setup, made.l1, made.step, {0, made.steps}, setting);
    Quantity own = noise_of_plain(setup, plain, made.step, 2, setting);
    own.add(ErrorPart::next_order(missing_after_as_long(setup, plain, made.step, 1, setting)));
    own.add(ErrorPart::next_order(lag_of_noise(setup, plain, made.step, 1, 2)));
    noise.measured.push_back(own);
    noise.places.push_back(fmt::format("N = {}", tokens_here));
    const std::vector<double> far = worse_distances(plain, 2);
    const std::vector<double> near = worse_distances(l1, 1);
    const auto quiet = [&](const Schedule& schedule) {
      return quiet_distance(setup, schedule, made.step, made.steps, setting);
    };
    // Half way, on a logarithmic scale, from l1 steps to plain steps, both without noise.
    const double middle = std::sqrt(quiet(made.l1) * quiet(made.plain));
    shares.measured.push_back(share_nearer(far, near, setting.false_alarm));
    shares.places.push_back(fmt::format("N = {}, plain steps nearer", tokens_here));
    shares.measured.push_back(
        share_nearer(std::vector<double>(near.size(), middle), near, setting.false_alarm));
    shares.places.push_back(fmt::format("N = {}, l1 steps beyond {:.3g}", tokens_here, middle));
    if (first_batch == 0) first_batch = static_cast<double>(setup.batch);
    one_batch.emplace_back(first_batch / static_cast<double>(setup.batch));
  }
  noise.mistakes.push_back(predicts("one-batch", one_batch));
  it.judge(shares);
  it.judge(noise);
}

}  // namespace

Statement statement() {
  return {
      .id = "scb.vocabulary",
      .claim = "with settings that scale alike l1 steps beat plain SGD at every vocabulary size",
      .paper = "arXiv 2410.23438, reply 2 to the reviewers",
      .status = "observed in source, scaling derived here",
      .hypotheses = {by_construction("V(0) = mu 1'", "every instance is made so"), quiet_text},
      .reaches = {EvidenceKind::statistical},
      .controls = {{"noise", "the noise of plain steps 10 % larger"},
                   {"one-batch", "noise that does not depend on N"},
                   {"damping", "the 2 in the noise left out"}},
      .knobs = {smallest, length, support_knob, step_knob, level, weight_knob, light_weight},
      .examine = examine};
}

}  // namespace popgrad::scb::checks::vocabulary
