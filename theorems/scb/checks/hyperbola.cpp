// Theorem    scb.hyperbola
// Status     derived here
// Source     the observation of Ren, Wang, Lee, arXiv 2410.23438, Section 6, that distances rise
//            again after a minimum
// Statement  on alpha_A alpha_V = 1 the excess loss is
//              K_P (1 - alpha_V)^2/(2 T),
//            flat for large T; under l1, to first order in lambda and up to O(1/T),
//              d/dt (K_P alpha_V^2 - K_Q alpha_A^2) = 2 lambda alpha_A;
//            the stage ends at a normalised dist_Q of
//              lambda/<V,P> sqrt(sum_k mu_k (Q_k^2 |q^k|^2 - Q_k))
// Hypotheses H1 V(0) = mu 1'; H2 lambda below q_min <V,P>
// Check      loss of the full model on the hyperbola; drift and bias of noise-free l1 stages over
//            their predictions (part_two.hpp, 1/T kept), as lambda goes to 0
// Controls   excess 10 % larger; drift 10 % faster; bias 10 % larger; Q_k - 1 in place of Q_k under
//            the root
// Uses       rungs gd (three-part), flow

#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::checks::hyperbola {
namespace {

constexpr Knob length = logarithmic_knob("length", "positions T of the context", 20, 1e7, 5000);
// Excess loss where V = mu 1' + alpha (P - mu 1') and a^k = 1/T + (q^k - 1/T)/alpha, over the least.
Quantity excess_loss(const Training<double>& training, double alpha) {
  const Bigrams<double>& b = training.bigrams;
  const PopulationFlow<double> flow(training);
  const double share = 1 / static_cast<double>(b.context);
  const Index n = b.tokens();
  const auto loss_at = [&](double value) {
    Vector<double> x = flow.initial();
    const Matrix<double> ground = training.start;
    x.head(n * n) = (ground + value * (b.transition - ground)).reshaped();
    for (Index k = 0; k < n; ++k) {
      const Index begin = b.first[static_cast<std::size_t>(k)];
      for (Index i = 0; i < b.support(k); ++i) {
        x[n * n + begin + k + i] = share + (b.law[begin + i] - share) / value;
      }
      x[n * n + begin + k + b.support(k)] = share - share / value;
    }
    return flow.loss(x);
  };
  const double least = loss_at(1);
  // Each loss has two products and two means of N x N numbers and three sums over the support.
  const auto operations = static_cast<double>(2 * (16 * n * n + 6 * b.entries()));
  return {loss_at(alpha) - least, {ErrorPart::rounding(operations, least)}};
}

void judge_flatness(const Training<double>& training, Examination& it) {
  const double at_zero =
      transition_size(training.bigrams) / (2 * static_cast<double>(training.bigrams.context));
  Comparison flatness;
  flatness.what = "excess loss on the hyperbola";
  flatness.mistakes = {predicts_times("excess", 1.1)};
  for (const double alpha : {0.5, 0.8, 1.25, 2.0}) {
    flatness.measured.push_back(excess_loss(training, alpha));
    flatness.predicted.emplace_back(at_zero * (1 - alpha) * (1 - alpha));
    flatness.places.push_back(fmt::format("alpha_V = {}", alpha));
  }
  it.judge(flatness);
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = scratch_instance(setting, length, several_positions, it);
  const Bigrams<double>& b = training.bigrams;
  const double weight = weight_of(setting, b);
  it.parameters["lambda"] = weight;
  judge_flatness(training, it);
  const SmallWeights stages = small_weights(training, weight);
  require_light_weight(b, weight, stages.alpha_V, it);
  it.judge(Comparison{.what = "drift under l1 over its prediction, as lambda goes to 0",
                      .measured = {limit_of_weight(stages.weight, stages.drift)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("drift", 1.1)}});
  if (!stages.biased()) return;
  double uneven = 0;
  for (Index k = 0; k < b.tokens(); ++k) uneven += b.stationary[k] * unevenness(b, k);
  const double fewer = std::sqrt((uneven + 1) / uneven);
  it.judge(Comparison{.what = "normalised bias of Q over its prediction, as lambda goes to 0",
                      .measured = {limit_of_weight(stages.weight, stages.distance_Q)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("bias", 1.1), predicts_times("fewer", fewer)}});
}

}  // namespace

Statement statement() {
  return {
      .id = "scb.hyperbola",
      .claim = "the loss is flat along alpha_A alpha_V = 1, l1 drifts along it with a known bias",
      .paper = "arXiv 2410.23438, Section 6",
      .status = "derived here",
      .hypotheses = {from_scratch_text, light_weight_text},
      .reaches = {EvidenceKind::numerical},
      .controls = {{"excess", "the excess loss 10 % larger"},
                   {"drift", "the drift 10 % faster"},
                   {"bias", "the bias 10 % larger"},
                   {"fewer", "Q_k - 1 in place of Q_k under the root"}},
      .knobs = {tokens_knob, length, several_positions, l1_weight, heavy_weight},
      .reads = "reduced",
      .examine = examine};
}

}  // namespace popgrad::scb::checks::hyperbola
