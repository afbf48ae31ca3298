#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/noisy_runs.hpp"
#include "theorems/scb/checks/part_two.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/scratch.hpp"

namespace popgrad::scb::checks::convergence {
namespace {

constexpr Knob length = logarithmic_knob("length", "positions T of the context", 50, 1e7, 5000);

Statement sheet{.id = "scb.convergence",
                .paper = "arXiv 2410.23438, Theorem 3.1",
                .status = "proved in source",
                .about = "expected gradients, and SGD with Gaussian noise",
                .theorem = R"(
From scratch the three-part algorithm (boost V and A, threshold and l1 steps, normalise) brings
both normalised distances below any eps with lambda = O(eps): on expected gradients both are
proportional to lambda as it goes to 0, up to O(1/T),
  dist_Q = lambda/<V,P> sqrt(sum_k mu_k (Q_k^2 |q^k|^2 - Q_k))
  dist_P = lambda/<V,P> sqrt(K_P) (sum_k mu_k Q_k - 1/(K_P alpha_V^4 + K_Q))
(1/T is kept in what is compared); with the noise of B sequences a step in all parts the mean of
the larger distance after as many steps is the same, up to O(1/B). lambda is above the highest
noise of T positions.)",
                .hypotheses = {from_scratch_text, light_weight_text},
                .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
                .false_version = "not-normalised",
                .knobs = {tokens_knob, length, several_positions, l1_weight, heavy_weight},
                .reads = "reduced"};

const Clause proportional =
    sheet.clause("the three-part algorithm brings both normalised distances to 0 with `lambda`");
const Clause same_mean = sheet.clause("noise leaves the mean of the larger one, up to `O(1/B)`");

[[maybe_unused]] const Clause samples =
    sheet.not_checked("how many sequences each part needs; `lambda` as `eps K_P/(Q^2 N^3)`");

const Hypothesis above_noise = sheet.assume("`lambda` above `sigma_A sqrt(2 ln T/B)`");

const Control larger_distances = sheet.control("distances", "distances 10 % larger");
const Control no_lag =
    sheet.control("no-lag", "the lag of `A` behind `V` left out of the distance of `P`");
const Control larger_weight =
    sheet.control("noisy-weight", "with noise the distances of a `lambda` 10 % larger");
const Control not_normalised = sheet.control(
    "not-normalised", "`V` comes to `P` with `lambda` as it is trained, without the last part");
const Rival only_noise = sheet.rival(
    "only-noise", "with noise what is left of the distance is noise, as `B^(-1/2)`", "its level");

const Knob noisy_weight = sheet.knob(
    linear_knob("noisy-weight", "lambda of the runs with noise, in the same unit", 0.1, 0.3, 0.2));
const Knob noise_share = sheet.knob(
    linear_knob("noise-share",
                "highest noise of T positions in one step over lambda; the batch follows from it",
                0.1, 0.25, 0.2));

void judge_expected_gradients(const Training<double>& training, double weight, Examination& it) {
  const SmallWeights runs = small_weights(training, weight);
  require_light_weight(training.bigrams, weight, runs.alpha_V, it);
  it.judge(proportional, equal("distance of `P` over its prediction, as `lambda` goes to 0",
                               limit_of_weight(runs.weight, runs.distance_P), 1)
                             .unless(larger_distances, times(1.1))
                             .unless(no_lag, times(runs.no_lag_P))
                             .unless(not_normalised, [&] { return runs.trained_P; }));
  if (!runs.biased()) return;
  it.judge(proportional, equal("distance of `Q` over its prediction, as `lambda` goes to 0",
                               limit_of_weight(runs.weight, runs.distance_Q), 1)
                             .unless(larger_distances, times(1.1)));
}

void judge_noisy(const NoisyRuns& noisy, Index batch, const Setting& setting, Examination& it) {
  constexpr Index fewer = 4;
  const std::uint32_t runs = setting.draws(100);
  const auto mean_at = [&](Index size, std::uint32_t first) {
    return sample_moments(ends_of_runs(noisy, size, runs, first, setting), setting.false_alarm)
        .mean.front();
  };
  const auto quiet = [&](double factor) {
    return ends_of_runs({noisy.training, factor * noisy.weight}, 0, 1, 0, setting)[0];
  };
  Quantity mean = mean_at(batch, 0);
  const Quantity at_fewer = mean_at(batch / fewer, runs);
  const Quantity change = at_fewer - mean;
  mean.add(ErrorPart::next_order((std::fabs(change.value()) + change.error()) / (fewer - 1)));
  it.judge(same_mean, equal("mean of the larger distance with noise", mean, quiet(1))
                          .of_kind(EvidenceKind::statistical)
                          .with(fmt::format("{} runs at `B = {}`", runs, batch))
                          .against(only_noise, at_fewer / std::sqrt(double{fewer}))
                          .unless(larger_weight, instead([&] { return quiet(1.1); })));
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
  it.require(above_noise, noisy.weight - noise,
             fmt::format("`lambda = {:.4g}`, noise {:.4g}", noisy.weight, noise));
  it.parameters["B"] = batch;
  judge_noisy(noisy, batch, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scb::checks::convergence
