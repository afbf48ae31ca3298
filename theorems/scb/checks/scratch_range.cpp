// Theorem    scb.scratch-range
// Status     conjectured in source, exponents derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, replies to the reviewers
// Statement  from scratch the sample size is no power of Q alone: with q^k even on Q positions and
//            the noise of SGD, the batch at which a run leaves 0 along the right branch with a
//            given probability Phi(z) is, at a fixed eta, to leading order
//              B = z^2 eta T rate W_V/(2 K_P K_Q),
//            1 in T at every Q and -1/2 in Q: rate = sqrt(K_P K_Q) falls, and W_V/K_Q hardly
//            depends on Q. (W_V as in scb.two-stages; supports must be found besides)
// Hypotheses H1 T above 100 Q; H2 P and eta fixed while Q and T grow
// Check      share of runs on the right branch at Q, 4 Q and 16 Q with the batch that is derived
//            there, and at 16 Q in a context a thousand times as long; exponents are reported
// Controls   a batch independent of Q; a batch independent of T; T^1.2
// Uses       rung noisy-lumped

#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/context_range.hpp"
#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks::scratch_range {
namespace {

constexpr double longer = 1000;  // times, of the longer context

constexpr Knob step_knob = logarithmic_knob(
    "step", "learning rate eta times the growth rate, at the least Q", 0.2, 0.4, 0.3);
constexpr Knob argument_knob = linear_knob(
    "argument", "z, where Phi(z) is the share of runs on the right branch", 1, 1.6, 1.2);

void examine(const Setting& setting, Examination& it) {
  require_long_context(setting, it);
  Comparison shares{.kind = EvidenceKind::statistical,
                    .what = "share of runs from scratch on the right branch",
                    .measured = {},
                    .predicted = {}};
  std::vector<Quantity> same_range;
  std::vector<Quantity> same_length;
  std::vector<double> batches;
  double step = 0;
  const std::uint32_t runs = setting.draws(400);
  std::uint32_t first_run = 0;
  const auto add = [&](Branching made, double wrong_Q, double wrong_T) {
    if (step == 0) step = setting.value(step_knob) / made.rate();
    made.step = step;
    // Noise counts over B only, whose rounding must not.
    constexpr double louder = 30;
    made.levels.value *= louder;
    made.levels.attention *= louder;
    const double batch = std::round(made.batch(setting.value(argument_knob)));
    batches.push_back(batch);
    shares.measured.push_back(made.right_share(batch, runs, first_run, setting));
    first_run += runs;
    shares.predicted.emplace_back(normal_share(made.argument(batch)));
    shares.places.push_back(fmt::format("Q = {}, T = {}, B = {:.4g}",
                                        made.training.bigrams.support(0),
                                        made.training.bigrams.context, batch));
    const double z = made.argument(batch);
    same_range.emplace_back(normal_share(z * std::sqrt(wrong_Q > 0 ? batch / wrong_Q : 1.0)));
    same_length.emplace_back(normal_share(z * std::sqrt(wrong_T > 0 ? batch / wrong_T : 1.0)));
  };
  for (const int times : range_growth) {
    const Training<double> training = ranged_training(setting, times);
    add({training, levels_of_shape(training.bigrams, NoiseShape::multiplicative), 1},
        batches.empty() ? 0.0 : batches.front(), 0);
  }
  Training<double> training = ranged_training(setting, range_growth.back());
  training.bigrams.context = std::lround(longer * static_cast<double>(training.bigrams.context));
  add({training, levels_of_shape(training.bigrams, NoiseShape::multiplicative), 1}, 0, batches[2]);
  std::vector<Quantity> longer_power = shares.predicted;
  longer_power.back() =
      normal_share(setting.value(argument_knob) * std::pow(longer, -0.1));  // z goes with sqrt(B)
  shares.mistakes = {predicts("no-range", same_range), predicts("no-length", same_length),
                     predicts("length", longer_power)};
  report_exponent(batches, it);
  it.report("exponent of T in the batch, at the largest Q",
            std::log(batches[3] / batches[2]) / std::log(longer));
  it.judge(shares);
}

}  // namespace

Statement statement() {
  return {
      .id = "scb.scratch-range",
      .claim = "training from scratch needs a batch that grows as T at every range of context Q",
      .paper = "arXiv 2410.23438, replies to the reviewers",
      .status = "conjectured in source, exponents derived here",
      .hypotheses = {long_context_text,
                     by_construction("P and eta fixed while Q and T grow", "one seed and step")},
      .reaches = {EvidenceKind::statistical},
      .controls = {{"no-range", "a batch independent of Q"},
                   {"no-length", "a batch independent of T"},
                   {"length", "T^1.2"}},
      .knobs = {range_vocabulary, range_length, short_range_length, least_range, step_knob,
                argument_knob},
      .examine = examine};
}

}  // namespace popgrad::scb::checks::scratch_range
