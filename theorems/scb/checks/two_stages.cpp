// Theorem    scb.two-stages
// Status     upper bound proved in source; measured here
// Source     Ren, Wang, Lee, arXiv 2410.23438, Theorem 3.1 (the batch it asks for)
// Statement  from scratch a run leaves 0 along the right branch, and boosts, only above a critical
//            batch size that grows as a power of T.
//            At any rate above one half it is, to leading order,
//              B = z^2 eta T^2 rate W/(2 K_P),         Phi(z) the rate, with constant noise (T^2);
//              B = z^2 eta T rate W_V/(2 K_P K_Q),     with noise that scales as that of SGD (T),
//            W as in scb.branch and W_V = sigma_V^2 |P C|^2/K_P: at the start d = 1/T makes the
//            noise of V small, and <V,V> = 0 takes it off A
// Hypotheses H1 V(0) = mu 1'; H2 eta and the instance fixed while T grows; H3 T large: with r the
//            share by which W_V grows until the branch is decided (noise of V makes <V,V> and noise
//            of A, which makes d and noise of V, branching.hpp), below 1,
//              z phi(z) r/(2 (1 - r)) + z exp(-z^2/2) decay <= 1/20,
//            what the rate leaves out at the shorter context
// Check      share of runs on the right branch at the shorter and at a thousand times longer
//            context, with a batch as T^2 (constant noise) and as T (multiplicative noise)
// Controls   T^2.2 with constant noise; T^1.2 with multiplicative noise; T^2 with both kinds
// Uses       rung noisy-lumped

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"

namespace popgrad::scb::checks::two_stages {
namespace {

constexpr const char* long_text = "T large";
constexpr const char* fixed_text = "eta and the instance fixed while T grows";

constexpr Knob shortest =
    logarithmic_knob("shortest", "positions T of the shorter context", 1000, 5000, 2000);
constexpr Knob step_knob =
    logarithmic_knob("step", "learning rate eta times the growth rate", 0.05, 0.2, 0.1);
constexpr Knob argument_knob =
    linear_knob("argument", "z, where Phi(z) is the share of runs that succeed", 1, 1.6, 1.2);
constexpr Knob step_growth =
    linear_knob("step-growth", "power of T, in units of the shorter, with which eta grows", 0.02,
                0.3, 0)
        .breaking(fixed_text);
constexpr double longer = 1000;

// One kind of noise, a batch that grows as T^power, and claims of other powers.
struct Growth {
  NoiseShape shape = NoiseShape::constant;
  double power = 2;
  std::vector<std::pair<std::string, double>> wrong;
};

// The shorter context.
Branching shorter(const Setting& setting, const Training<double>& training, NoiseShape shape) {
  // K_P, K_Q and the levels do not depend on the length.
  Branching made{training, levels_of_shape(training.bigrams, shape), 1};
  made.step = setting.value(step_knob) / made.rate();
  // Noise counts over B only, whose rounding must not.
  constexpr double least_batch = 1e6;
  const double argument = setting.value(argument_knob);
  const double louder = std::sqrt(std::max(1.0, least_batch / made.batch(argument)));
  made.levels.value *= louder;
  made.levels.attention *= louder;
  return made;
}

void judge_growth(const Setting& setting, const Branching& made, const Growth& growth,
                  std::uint32_t first_run, Examination& it) {
  const auto positions = static_cast<double>(made.training.bigrams.context);
  const double argument = setting.value(argument_knob);
  const double first_batch = made.batch(argument);
  const std::uint32_t runs = setting.draws(1600);
  Comparison shares;
  shares.kind = EvidenceKind::statistical;
  shares.what = fmt::format("share of runs on the right branch, B as T^{}", growth.power);
  for (const double ratio : {1.0, longer}) {
    Branching grown = made;
    grown.training.bigrams.context = std::lround(ratio * positions);
    const double batch = std::round(first_batch * std::pow(ratio, growth.power));
    const double claimed = grown.argument(batch);
    grown.step *= std::pow(ratio, setting.value(step_growth));
    shares.measured.push_back(grown.right_share(batch, runs, first_run, setting));
    shares.predicted.emplace_back(normal_share(claimed));
    shares.places.push_back(fmt::format("T = {:.3g}, B = {:.4g}", ratio * positions, batch));
    first_run += runs;
  }
  Branching longest = made;
  longest.training.bigrams.context = std::lround(longer * positions);
  const double far = longest.argument(first_batch * std::pow(longer, growth.power));
  for (const auto& [control, power] : growth.wrong) {
    const double off = std::pow(longer, (growth.power - power) / 2);  // z goes with sqrt(B)
    shares.mistakes.push_back(
        predicts(control, {shares.predicted.front(), normal_share(off * far)}));
  }
  it.judge(shares);
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = scratch_instance(setting, shortest, support_knob, it);
  const double growing = setting.value(step_growth);
  it.parameters["argument"] = setting.value(argument_knob);
  it.require(fixed_text, -growing, fmt::format("eta grows as T^{:.3g}", growing));
  const Branching constant = shorter(setting, training, NoiseShape::constant);
  const Branching scaled = shorter(setting, training, NoiseShape::multiplicative);
  const double argument = setting.value(argument_knob);
  const double left_out = std::max(constant.left_out(constant.batch(argument)),
                                   scaled.left_out(scaled.batch(argument)));
  // Sampling takes the other half of what has to be noticed.
  it.require(long_text, noticed_share / 2 - left_out,
             fmt::format("left out {:.3g} of the share of runs, allowed {:.3g}", left_out,
                         noticed_share / 2));
  if (left_out > noticed_share) return;
  judge_growth(setting, constant, {NoiseShape::constant, 2, {{"square", 2.2}}}, 0, it);
  judge_growth(setting, scaled,
               {NoiseShape::multiplicative, 1, {{"linear", 1.2}, {"one-exponent", 2}}}, 1U << 20U,
               it);
}

}  // namespace

Statement statement() {
  return {.id = "scb.two-stages",
          .claim = "boosting needs a batch that grows as T^2 (constant noise) or as T (SGD's)",
          .paper = "arXiv 2410.23438, Theorem 3.1",
          .status = "upper bound proved in source",
          .hypotheses = {from_scratch_text, fixed_text, long_text},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"square", "T^2.2 with constant noise"},
                       {"linear", "T^1.2 with multiplicative noise"},
                       {"one-exponent", "T^2 with both kinds of noise"}},
          .knobs = {tokens_knob, shortest, support_knob, step_knob, argument_knob, step_growth},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scb::checks::two_stages
