#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"

namespace popgrad::scb::checks::branch {
namespace {

Statement sheet{.id = "scb.branch",
                .paper = "arXiv 2410.23438, Section 5",
                .status = "derived here, for the noise model of Section 5",
                .about = "SGD with constant Gaussian noise",
                .theorem = R"(
With constant noise a run from scratch leaves 0 along the right branch (alpha_V, alpha_A > 0), to
leading order, with probability
  Phi(sqrt(2 K_P B/(eta T^2 rate W))),
W the variance of one sample's noise along the growing mode y:
  y = sqrt(K_P) alpha_V + sqrt(K_Q) alpha_A
  W = sigma_V^2 |P C|^2/K_P + sum_k mu_k^2 sigma_{A,k}^2 |q^k - 1/T|^2/K_Q,
C = diag(mu) - mu mu' and rate = sqrt(K_P K_Q). With 1/T and eta kept the argument is
  sqrt((2 + eta g) B/(eta T^2 g w)),  w the variance along alpha_V + (K_Q - 1/T)/g alpha_A,
g the growth rate, which goes to the rate above as T grows, as K_P w does to W. Noise of A at the level
of sequences is a small part of W; here it is raised to a third or a half of it.)",
                .hypotheses = {from_scratch_text},
                .reaches = {EvidenceKind::statistical},
                .false_version = "no-factor",
                .reads = "reduced"};

const Clause probability = sheet.clause(
    "constant noise leaves a run on the right branch with probability `Phi(sqrt(2 K_P B/(eta T^2 "
    "rate W)))`");

const Hypothesis long_context = sheet.assume("`T` above the growth time `1/rate`");
const Hypothesis slow = sheet.assume("`eta` times the growth rate below 1");

const Control no_factor = sheet.control("no-factor", "the factor 2 under the root left out");
const Control values_only = sheet.control("values-only", "the noise of attention left out of `W`");

const Rival linear =
    sheet.rival("linear", "the argument grows as `B`, not as its root", "a factor");

const Knob vocabulary = sheet.knob(tokens_knob);
const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 3e3, 1e6, 5000));
const Knob support = sheet.knob(support_knob);
const Knob step_knob =
    sheet.knob(logarithmic_knob("step", "learning rate eta times the growth rate", 0.05, 0.2, 0.1));
const Knob argument_knob = sheet.knob(
    linear_knob("argument", "argument of Phi, which the batch follows from", 1, 1.6, 1.2));
const Knob attention_share = sheet.knob(linear_knob(
    "attention-share", "share of W that is of the noise of attention, whose level follows", 0.3,
    0.6, 0.4));
const Knob growth_time = sheet.knob(
    linear_knob("growth-time", "1/(T sqrt(K_P K_Q)); 0: that of the other knobs", 1.2, 3, 0)
        .breaking(long_context));
const Knob fast_step = sheet.knob(
    logarithmic_knob("fast-step", "eta times the growth rate; 0: step", 1.01, 5, 0).breaking(slow));

Training<double> drawn_training(const Setting& setting) {
  const auto of_length = [&](Index positions) {
    return from_scratch(setting.count(vocabulary), positions, setting.count(support), setting.seed);
  };
  Training<double> drawn = of_length(setting.count(length));
  const double time = setting.value(growth_time);
  if (!(time > 0)) return drawn;
  const Bigrams<double>& b = drawn.bigrams;  // K_P and K_Q do not depend on the length
  const double positions = 1 / (time * std::sqrt(transition_size(b) * context_size(b)));
  return of_length(std::max<Index>(setting.count(support) + 2, std::lround(positions)));
}

// From a user's file, P and q; the noise of V is that of a sample at the solution, of constant shape. That of
// A would be a small part of W, which nothing tested: its levels are raised to their share.
Branching drawn_branching(const Setting& setting, Examination& it) {
  Branching made;
  made.training = scratch_instance(
      setting, [&] { return drawn_training(setting); }, it);
  made.levels = levels_of_shape(made.training.bigrams, NoiseShape::constant);
  const double share = setting.value(attention_share);
  const double of_attention = made.attention_noise();
  if (of_attention > 0) {
    made.levels.attention *= std::sqrt(share / (1 - share) * made.noise(true) / of_attention);
  }
  const double fast = setting.value(fast_step);
  made.step = (fast > 0 ? fast : setting.value(step_knob)) / made.rate();
  // Noise counts over B only, whose rounding must not.
  constexpr double least_batch = 1e6;
  const double louder = std::max(1.0, std::sqrt(least_batch / made.batch(1)));
  made.levels.value *= louder;
  made.levels.attention *= louder;
  return made;
}

void examine(const Setting& setting, Examination& it) {
  const Branching made = drawn_branching(setting, it);
  const double rate = made.rate();
  const double grown = static_cast<double>(made.training.bigrams.context) * rate;
  it.require(long_context, grown - 1, fmt::format("`T rate = {:.3g}`", grown));
  it.require(slow, 1 - made.step * rate, fmt::format("`eta rate = {:.3g}`", made.step * rate));
  const std::uint32_t runs = setting.draws(2000);
  const double argument = setting.value(argument_knob);
  it.parameters["eta"] = made.step;
  it.parameters["argument"] = argument;
  Comparison shares = equal("share of runs on the right branch");
  std::vector<Quantity> unscaled;
  std::vector<Quantity> proportional;
  std::vector<Quantity> quieter;
  const double without_attention = std::sqrt(made.noise() / made.noise(true));
  std::uint32_t first_run = 0;
  for (const double own : {argument, argument / 2}) {
    const double batch = std::round(made.batch(own));
    shares.add(fmt::format("`B = {:.6g}`", batch),
               made.right_share(batch, runs, first_run, setting),
               normal_share(made.argument(batch)));
    unscaled.emplace_back(normal_share(own / std::sqrt(2)));
    quieter.emplace_back(normal_share(own * without_attention));
    proportional.emplace_back(normal_share(own * own / argument));
    first_run += runs;
  }
  it.judge(probability, shares.of_kind(EvidenceKind::statistical)
                            .unless(no_factor, unscaled)
                            .unless(values_only, quieter)
                            .against(linear, proportional));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::branch
