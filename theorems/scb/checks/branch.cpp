// Theorem    scb.branch
// Status     derived here
// Source     noise model of Ren, Wang, Lee, arXiv 2410.23438, Section 5
// Statement  with constant noise a run from scratch leaves 0 along the right branch
//            (alpha_V, alpha_A > 0), to leading order, with probability
//              Phi(sqrt(2 K_P B/(eta T^2 rate W))),
//            W the variance of one sample's noise along the growing mode y:
//              y = sqrt(K_P) alpha_V + sqrt(K_Q) alpha_A
//              W = sigma_V^2 |P C|^2/K_P + sum_k mu_k^2 sigma_{A,k}^2 |q^k - 1/T|^2/K_Q
//            (with 1/T and eta kept: branching.hpp)
// Hypotheses H1 V(0) = mu 1'; H2 T above the growth time 1/rate; H3 eta times the growth rate
//            below 1
// Check      share of noisy-lumped runs with alpha_V > 0 at the end, at a batch size and at a
//            fourth of it
// Controls   the factor 2 under the root left out; an argument that grows as B, not as its root
// Uses       rung noisy-lumped

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"

namespace popgrad::scb::checks::branch {
namespace {

constexpr const char* long_text = "T above the growth time 1/rate";
constexpr const char* slow_text = "eta times the growth rate below 1";

constexpr Knob length = logarithmic_knob("length", "positions T of the context", 3e3, 1e6, 1e4);
constexpr Knob step_knob =
    logarithmic_knob("step", "learning rate eta times the growth rate", 0.05, 0.2, 0.1);
constexpr Knob argument_knob =
    linear_knob("argument", "argument of Phi, which the batch follows from", 1, 1.6, 1.2);
constexpr Knob growth_time =
    linear_knob("growth-time", "1/(T sqrt(K_P K_Q)); 0: that of the other knobs", 1.2, 3, 0)
        .breaking(long_text);
constexpr Knob fast_step =
    logarithmic_knob("fast-step", "eta times the growth rate; 0: step", 1.01, 5, 0)
        .breaking(slow_text);

Training<double> drawn_training(const Setting& setting) {
  const auto of_length = [&](Index positions) {
    return from_scratch(setting.count(tokens_knob), positions, setting.count(support_knob),
                        setting.seed);
  };
  Training<double> drawn = of_length(setting.count(length));
  const double time = setting.value(growth_time);
  if (!(time > 0)) return drawn;
  const Bigrams<double>& b = drawn.bigrams;  // K_P and K_Q do not depend on the length
  const double positions = 1 / (time * std::sqrt(transition_size(b) * context_size(b)));
  const Index least = setting.count(support_knob) + 2;
  return of_length(std::max<Index>(least, std::lround(positions)));
}

// From a user's file, P and q; the noise is that of a sample at the solution, of constant shape.
Branching drawn_branching(const Setting& setting, Examination& it) {
  Branching made;
  made.training = scratch_instance(
      setting, [&] { return drawn_training(setting); }, it);
  made.levels = levels_of_shape(made.training.bigrams, NoiseShape::constant);
  const double fast = setting.value(fast_step);
  made.step = (fast > 0 ? fast : setting.value(step_knob)) / made.rate();
  // Noise counts over B only, whose rounding must not.
  constexpr double least_batch = 1e6;
  const double louder = std::sqrt(least_batch / made.batch(1));
  if (louder > 1) {
    made.levels.value *= louder;
    made.levels.attention *= louder;
  }
  return made;
}

void examine(const Setting& setting, Examination& it) {
  const Branching made = drawn_branching(setting, it);
  const double rate = made.rate();
  const auto positions = static_cast<double>(made.training.bigrams.context);
  it.require(long_text, positions * rate - 1, fmt::format("T rate = {:.3g}", positions * rate));
  it.require(slow_text, 1 - made.step * rate, fmt::format("eta rate = {:.3g}", made.step * rate));
  const std::uint32_t runs = setting.draws(1200);
  const double argument = setting.value(argument_knob);
  Comparison shares;
  shares.kind = EvidenceKind::statistical;
  shares.what = "share of runs on the right branch";
  std::vector<Quantity> no_factor;
  std::vector<Quantity> linear;
  std::uint32_t first_run = 0;
  for (const double own : {argument, argument / 2}) {
    const double batch = std::round(made.batch(own));
    shares.measured.push_back(made.right_share(batch, runs, first_run, setting));
    shares.predicted.emplace_back(normal_share(made.argument(batch)));
    shares.places.push_back(fmt::format("B = {:.6g}", batch));
    no_factor.emplace_back(normal_share(own / std::sqrt(2)));
    linear.emplace_back(normal_share(own * own / argument));
    first_run += runs;
  }
  shares.mistakes = {predicts("no-factor", no_factor), predicts("linear", linear)};
  it.parameters["eta"] = made.step;
  it.parameters["argument"] = argument;
  it.judge(shares);
}

}  // namespace

Statement statement() {
  return {.id = "scb.branch",
          .claim =
              "noise leaves a run on the right branch with probability Phi(sqrt(2 K_P B/(eta T^2 "
              "rate W)))",
          .paper = "arXiv 2410.23438, Section 5",
          .status = "derived here",
          .hypotheses = {from_scratch_text, long_text, slow_text},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"no-factor", "the factor 2 under the root left out"},
                       {"linear", "an argument that grows as B instead of sqrt(B)"}},
          .knobs = {tokens_knob, length, support_knob, step_knob, argument_knob, growth_time,
                    fast_step},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scb::checks::branch
