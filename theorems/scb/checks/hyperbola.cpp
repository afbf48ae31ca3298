#include "theorems/scb/checks/family.hpp"
#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::checks::hyperbola {
namespace {

Statement sheet{.id = "scb.hyperbola",
                .paper = "arXiv 2410.23438, Section 6",
                .status = "derived here",
                .about = "full-batch descent of the three-part algorithm",
                .theorem = R"(
On alpha_A alpha_V = 1 the excess loss is
  K_P (1 - alpha_V)^2/(2 T),
flat for large T. In part 2, under an l1 norm of weight lambda, to first order in lambda and up to
O(1/T),
  d/dt (K_P alpha_V^2 - K_Q alpha_A^2) = 2 lambda alpha_A;
the stage ends at a normalised dist_Q of
  lambda/<V,P> sqrt(sum_k mu_k (Q_k^2 |q^k|^2 - Q_k)),
Q_k the positions that token k attends to. (Predictions are compared with 1/T kept.) Section 6
observes that distances rise again after a minimum.)",
                .hypotheses = {from_scratch_text, light_weight_text},
                .reaches = {EvidenceKind::numerical},
                .false_version = "attention",
                .knobs = {tokens_knob},
                .reads = "reduced"};

const Clause flat =
    sheet.clause("excess loss on `alpha_A alpha_V = 1` is `K_P (1 - alpha_V)^2/(2 T)`");
const Clause drifts = sheet.clause("small `l1` drifts along it as `2 lambda alpha_A`");
const Clause biased = sheet.clause("with a known bias of `Q`");

const Control excess = sheet.control("excess", "the excess loss 10 % larger");
const Control faster_drift = sheet.control("drift", "the drift 10 % faster");
const Control larger_bias = sheet.control("bias", "the bias 10 % larger");
const Control fewer = sheet.control("fewer", "`Q_k - 1` in place of `Q_k` under the root");

const Rival attention = sheet.rival(
    "attention",
    "the excess loss is in the distance of `A`: `(1 - alpha_A)^2` in place of `(1 - alpha_V)^2`",
    "a factor");

const Knob length =
    sheet.knob(logarithmic_knob("length", "positions T of the context", 20, 1e7, 5000));
const Knob few_positions = sheet.knob(several_positions);
const Knob light = sheet.knob(l1_weight);
const Knob heavy = sheet.knob(heavy_weight);

// Excess loss where V = mu 1' + alpha (P - mu 1') and a^k = 1/T + (q^k - 1/T)/alpha, over the
// least.
Quantity excess_loss(Training<double> training, double alpha) {
  training.attention_start.resize(0, 0);
  const Bigrams<double>& b = training.bigrams;
  const PopulationFlow<double> flow(training);
  const Index n = b.tokens();
  const Matrix<double> no_residual = Matrix<double>::Zero(n, n);
  const auto loss_at = [&](double value) {
    return flow.loss(flow.initial() + along_family<double>(b, value, 1 / value, no_residual));
  };
  const double least = loss_at(1);
  // Each loss has two products and two means of N x N numbers and three sums over the support.
  const auto operations = static_cast<double>(2 * (16 * n * n + 6 * b.entries()));
  return {loss_at(alpha) - least, {ErrorPart::rounding(operations, least)}};
}

void judge_flatness(const Training<double>& training, Examination& it) {
  const double at_zero =
      transition_size(training.bigrams) / (2 * static_cast<double>(training.bigrams.context));
  Comparison loss = equal("excess loss on the hyperbola");
  std::vector<Quantity> of_attention;  // with the factor that suits the first
  for (const double alpha : {0.5, 0.8, 1.25, 2.0}) {
    loss.add(fmt::format("`alpha_V = {}`", alpha), excess_loss(training, alpha),
             at_zero * (1 - alpha) * (1 - alpha));
    of_attention.push_back(loss.measured.front() * Quantity(std::pow(1 - 1 / alpha, 2)));
  }
  it.judge(flat, loss.unless(excess, times(1.1)).against(attention, of_attention));
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = scratch_instance(setting, length, few_positions, it);
  const Bigrams<double>& b = training.bigrams;
  const double weight = weight_of(setting, b);
  it.parameters["lambda"] = weight;
  judge_flatness(training, it);
  const SmallWeights stages = small_weights(training, weight);
  require_light_weight(b, weight, stages.alpha_V, it);
  it.judge(drifts, equal("drift under `l1` over its prediction, as `lambda` goes to 0",
                         limit_of_weight(stages.weight, stages.drift), 1)
                       .unless(faster_drift, times(1.1)));
  if (!stages.biased()) return;
  double uneven = 0;
  for (Index k = 0; k < b.tokens(); ++k) uneven += b.stationary[k] * unevenness(b, k);
  it.judge(biased, equal("normalised bias of `Q` over its prediction, as `lambda` goes to 0",
                         limit_of_weight(stages.weight, stages.distance_Q), 1)
                       .unless(larger_bias, times(1.1))
                       .unless(fewer, times(std::sqrt((uneven + 1) / uneven))));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::hyperbola
