// Theorem    scb.convergence
// Status     proved in source
// Source     Ren, Wang, Lee, arXiv 2410.23438, Theorem 3.1
// Statement  from scratch the three-part algorithm brings both normalised distances below any eps
//            with lambda = O(eps): on expected gradients both are proportional to lambda as it goes
//            to 0,
//              dist_Q = lambda/<V,P> sqrt(sum_k mu_k (Q_k^2 |q^k|^2 - Q_k))
//              dist_P = lambda/<V,P> sqrt(K_P) (sum_k mu_k Q_k - 1/(K_P alpha_V^4 + K_Q))
//            (up to O(1/T)); with the noise of B sequences a step the mean distance is the same, up
//            to O(1/B)
// Hypotheses H1 V(0) = mu 1'; H2 lambda below q_min <V,P>; H3 lambda above
//            sigma_A sqrt(2 ln T/B), the highest noise of T positions
// Check      both distances over their predictions as lambda goes to 0
//            (part_two.hpp, 1/T kept); mean of the larger distance with Gaussian noise
//            in all parts against that of expected gradients after as many steps
// Controls   distances 10 % larger; the lag of A behind V left out of dist_P; with noise
//            the distances of a lambda 10 % larger
// Uses       rungs gd and noisy-lumped, three-part

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/noisy_runs.hpp"
#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"

namespace popgrad::scb::checks::convergence {
namespace {

constexpr const char* above_noise_text = "lambda above sigma_A sqrt(2 ln T/B)";

constexpr Knob length = logarithmic_knob("length", "positions T of the context", 50, 1e7, 5000);
constexpr Knob noisy_weight =
    linear_knob("noisy-weight", "lambda of the runs with noise, in the same unit", 0.1, 0.3, 0.2);
constexpr Knob noise_share =
    linear_knob("noise-share",
                "highest noise of T positions in one step over lambda; the batch follows from it",
                0.1, 0.25, 0.2);

void judge_expected_gradients(const Training<double>& training, double weight, Examination& it) {
  const SmallWeights runs = small_weights(training, weight);
  require_light_weight(training.bigrams, weight, runs.alpha_V, it);
  it.judge(Comparison{
      .what = "distance of P over its prediction, as lambda goes to 0",
      .measured = {limit_of_weight(runs.weight, runs.distance_P)},
      .predicted = {1.0},
      .mistakes = {predicts_times("distances", 1.1), predicts_times("no-lag", runs.no_lag_P)}});
  if (!runs.biased()) return;
  it.judge(Comparison{.what = "distance of Q over its prediction, as lambda goes to 0",
                      .measured = {limit_of_weight(runs.weight, runs.distance_Q)},
                      .predicted = {1.0},
                      .mistakes = {predicts_times("distances", 1.1)}});
}

void judge_noisy(const NoisyRuns& noisy, Index batch, const Setting& setting, Examination& it) {
  constexpr Index fewer = 4;
  const std::uint32_t runs = setting.draws(100);
  const auto mean_at = [&](Index size, std::uint32_t first) {
    return sample_moments(ends_of_runs(noisy, size, runs, first, setting), setting.false_alarm)
        .mean.front();
  };
  const auto quiet = [&](double factor) {
    NoisyRuns own = noisy;
    own.weight *= factor;
    return std::vector<Quantity>{ends_of_runs(own, 0, 1, 0, setting)[0]};
  };
  Quantity mean = mean_at(batch, 0);
  const Quantity change = mean_at(batch / fewer, runs) - mean;
  mean.add(ErrorPart::next_order((std::fabs(change.value()) + change.error()) / (fewer - 1)));
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "mean of the larger distance with noise",
                      .measured = {mean},
                      .predicted = quiet(1),
                      .mistakes = {{.control = "noisy-weight",
                                    .predicts = [&](const auto&) { return quiet(1.1); }}},
                      .detail = fmt::format("{} runs at B = {}", runs, batch)});
}

void examine(const Setting& setting, Examination& it) {
  const Training<double> training = scratch_instance(setting, length, several_positions, it);
  const Bigrams<double>& b = training.bigrams;
  const double weight = weight_of(setting, b);
  it.parameters["lambda"] = weight;
  judge_expected_gradients(training, weight, it);
  const NoisyRuns noisy{training, setting.value(noisy_weight) * least_pull(b)};
  const double highest = highest_noise(b);
  const Index batch =
      std::llround(std::ceil(std::pow(highest / (setting.value(noise_share) * noisy.weight), 2)));
  const double noise = highest / std::sqrt(static_cast<double>(batch));
  it.require(above_noise_text, noisy.weight - noise,
             fmt::format("lambda = {:.4g}, noise {:.4g}", noisy.weight, noise));
  it.parameters["B"] = batch;
  judge_noisy(noisy, batch, setting, it);
}

}  // namespace

Statement statement() {
  return {.id = "scb.convergence",
          .claim = "the three-part algorithm brings both normalised distances below any eps",
          .paper = "arXiv 2410.23438, Theorem 3.1",
          .status = "proved in source",
          .hypotheses = {from_scratch_text, light_weight_text, above_noise_text},
          .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"distances", "distances 10 % larger"},
                       {"no-lag", "the lag of A behind V left out of the distance of P"},
                       {"noisy-weight", "with noise the distances of a lambda 10 % larger"}},
          .knobs = {tokens_knob, length, several_positions, l1_weight, heavy_weight, noisy_weight,
                    noise_share},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scb::checks::convergence
