#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"

namespace popgrad::scb::checks::two_stages {
namespace {

constexpr Knob shortest =
    logarithmic_knob("shortest", "positions T of the shorter context", 1000, 5000, 5000);

Statement sheet{.id = "scb.two-stages",
                .paper = "arXiv 2410.23438, Theorem 3.1",
                .status = "upper bound proved in source",
                .about = "SGD with Gaussian noise",
                .theorem = R"(
From scratch a run leaves 0 along the right branch, and boosts, only above a critical batch size
that grows as a power of T, without a factor ln T (Theorem 3.1 bounds the batch from above). At a rate
Phi(z) it is, to leading order,
  B = z^2 eta T^2 rate W/(2 K_P)          with constant noise (T^2)
  B = z^2 eta T rate W_V/(2 K_P K_Q)      with noise that scales as that of SGD (T)
W as in scb.branch and W_V = sigma_V^2 |P C|^2/K_P: at the start d = 1/T makes the noise of V
small, and <V,V> = 0 takes it off A.)",
                .hypotheses = {from_scratch_text},
                .reaches = {EvidenceKind::statistical},
                .false_version = "one-exponent",
                .knobs = {tokens_knob, shortest, support_knob},
                .reads = "reduced"};

const Clause with_constant_noise = sheet.clause(
    "with constant noise a given share of runs takes the right branch at a batch as `T^2`");
const Clause with_scaled_noise = sheet.clause("with noise that scales as SGD's, as `T`");

const Clause on_sequences = sheet.not_checked("on sequences");

const Hypothesis fixed = sheet.assume("`eta` and the instance fixed while `T` grows");
const Hypothesis long_context = sheet.assume(
    {"`T` large", Basis::evaluated,
     "what the rate leaves out at the shorter context, `z phi(z) r/(2 (1 - r)) + z exp(-z^2/2)` "
     "decay, is at most 1/20: `r < 1` is the share by which `W_V` grows until the branch is "
     "decided, "
     "as noise of `V` makes `<V,V>` and noise of `A`, which makes `d` and noise of `V`"});

const Control square_power = sheet.control("square", "`T^2.2` with constant noise");
const Control linear_power = sheet.control("linear", "`T^1.2` with multiplicative noise");
const Control one_power = sheet.control("one-exponent", "`T^2` with both kinds of noise");

const Rival with_logarithm = sheet.rival(
    "with-logarithm", "the batch goes as the same powers of `T` times `ln T`", "a factor");

const Knob step_knob =
    sheet.knob(logarithmic_knob("step", "learning rate eta times the growth rate", 0.05, 0.2, 0.1));
const Knob argument_knob = sheet.knob(
    linear_knob("argument", "z, where Phi(z) is the share of runs that succeed", 1, 1.6, 1.2));
const Knob step_growth = sheet.knob(
    linear_knob("step-growth", "power of T, in units of the shorter, with which eta grows", 0.02,
                0.3, 0)
        .breaking(fixed));

constexpr double longer = 1000;  // times, of the longer context

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

// At both contexts, with a batch that grows as T^power, unless it grows as a wrong power.
Comparison right_shares(const Setting& setting, const Branching& made, double power,
                        std::uint32_t first_run,
                        const std::vector<std::pair<Control, double>>& wrong_powers) {
  const auto positions = static_cast<double>(made.training.bigrams.context);
  const double first_batch = made.batch(setting.value(argument_knob));
  const std::uint32_t runs = setting.draws(1600);
  Comparison shares = equal(fmt::format("share of runs on the right branch, `B` as `T^{}`", power));
  for (const double ratio : {1.0, longer}) {
    Branching grown = made;
    grown.training.bigrams.context = std::lround(ratio * positions);
    const double batch = std::round(first_batch * std::pow(ratio, power));
    const double claimed = grown.argument(batch);
    grown.step *= std::pow(ratio, setting.value(step_growth));
    shares.add(fmt::format("`T = {:.3g}`, `B = {:.4g}`", ratio * positions, batch),
               grown.right_share(batch, runs, first_run, setting), normal_share(claimed));
    first_run += runs;
  }
  Branching longest = made;
  longest.training.bigrams.context = std::lround(longer * positions);
  const double far = longest.argument(first_batch * std::pow(longer, power));
  for (const auto& [control, wrong] : wrong_powers) {
    const double off = std::pow(longer, (power - wrong) / 2);  // z goes with sqrt(B)
    shares.unless(control,
                  std::vector<Quantity>{shares.predicted.front(), normal_share(off * far)});
  }
  const double slower = std::sqrt(std::log(positions) / std::log(longer * positions));
  return shares.of_kind(EvidenceKind::statistical)
      .against(with_logarithm,
               std::vector<Quantity>{shares.predicted.front(), normal_share(slower * far)});
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = scratch_instance(setting, shortest, support_knob, it);
  const double growing = setting.value(step_growth);
  const double argument = setting.value(argument_knob);
  it.parameters["argument"] = argument;
  it.require(fixed, -growing, fmt::format("`eta` grows as `T^{:.3g}`", growing));
  const Branching constant = shorter(setting, training, NoiseShape::constant);
  const Branching scaled = shorter(setting, training, NoiseShape::multiplicative);
  const double left_out = std::max(constant.left_out(constant.batch(argument)),
                                   scaled.left_out(scaled.batch(argument)));
  // Sampling takes the other half of what has to be noticed.
  it.require(long_context, noticed_share / 2 - left_out,
             fmt::format("left out {:.3g} of the share of runs, allowed {:.3g}", left_out,
                         noticed_share / 2));
  if (left_out > noticed_share) return;
  it.judge(with_constant_noise, right_shares(setting, constant, 2, 0, {{square_power, 2.2}}));
  it.judge(with_scaled_noise,
           right_shares(setting, scaled, 1, 1U << 20U, {{linear_power, 1.2}, {one_power, 2}}));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::two_stages
