#pragma once
/// Attention entropies that others recorded while they trained real transformers: which layers
/// bounce, and whether the bounce goes with a low validation loss.
///
/// Source of the claim: arXiv 2310.00535, Section 4 and its experiments on WikiText.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace popgrad::joma {

/// One training run: the curve of its validation loss and one entropy curve a layer.
struct MeasuredRun {
  int layers = 0;  ///< depth of the transformer
  double learning_rate = 0;
  std::uint64_t seed = 0;
  std::vector<double> step;  ///< minibatches, ascending
  std::vector<double> loss;  ///< validation loss in nats at `step`; NaN where not recorded
  std::vector<int> layer;    ///< the layers that were recorded, ascending
  std::vector<std::vector<double>> entropy;  ///< (layer, step), nats; NaN where not recorded

  /// "10 layers, lr 0.0001, seed 1".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] double final_loss() const { return loss.back(); }
  /// The least recorded loss; NaN if none was recorded.
  [[nodiscard]] double best_loss() const;
  /// The loss ends as NaN or above where it started.
  [[nodiscard]] bool diverged() const;
};

/// Columns nlayers, lr, seed, minibatch, layer, entropy, val_loss (others are ignored; a file
/// without seed has seed 0), as runs in the order of (learning rate, layers, seed).
/// Throws InputError for a missing column, a row that occurs twice, a layer outside 0..nlayers-1,
/// two losses at one step of one run, or no rows.
std::vector<MeasuredRun> group_measured_runs(std::span<const std::string> names,
                                             std::span<const std::vector<double>> columns,
                                             std::string_view file);

/// The same from CSV files with a header line; several paths are joined by commas.
/// Throws InputError with file and line for what is not a complete table of numbers.
std::vector<MeasuredRun> read_measured_runs(std::string_view paths);

/// Fall and rise of one recorded curve.
///   fall             = start - minimum
///   rebound          = end - minimum
///   relative rebound = rebound / fall
/// `noise` is the standard deviation of one recorded value about its trend: the median absolute
/// second difference of the later half, times 1.4826 / sqrt 6 (6 is the variance of a second
/// difference of unit noise; a straight trend drops out).
struct LayerBounce {
  double start = 0, minimum = 0, end = 0, noise = 0;
  std::size_t at = 0;      ///< index of the minimum
  std::size_t points = 0;  ///< recorded values
  bool complete = false;   ///< at least 5 values, none of them missing

  [[nodiscard]] double fall() const { return start - minimum; }
  [[nodiscard]] double rebound() const { return end - minimum; }
  [[nodiscard]] bool interior() const { return at > 0 && at + 1 < points; }
  /// The minimum is inside, and both fall and rebound exceed max(factor * noise, floor).
  [[nodiscard]] bool bounces(double factor, double floor) const;
};
LayerBounce read_bounce(std::span<const double> entropy);

/// The least of n = 59 values of pure noise lies 2.3 +- 0.4 deviations below their mean, so their
/// last value exceeds it by more than 6 deviations less than once in 1000 curves.
constexpr double noise_factor = 6;
/// Nats; a change below 1/200 of the entropies at the start (2.5) is not called a bounce, however
/// quiet the curve: stuck layers are recorded without any noise.
constexpr double least_change = 0.0125;

/// Runs as clusters: one loss, one rebound a layer, and the stratum that the run belongs to.
struct Cluster {
  std::vector<double> rebound;
  double loss = 0;
  double stratum = 0;
};

/// Rank correlation of rebound and loss over all (layer, run) pairs, averaged over strata with
/// their numbers of pairs as weights (all runs in one stratum: the plain correlation).
double clustered_correlation(std::span<const Cluster> clusters);

/// An interval from resampling runs, whole clusters within their strata, with replacement.
struct Association {
  double correlation = 0;
  double low = 0, high = 0;
  double deviation = 0;  ///< of the resampled atanh(correlation)
  std::size_t runs = 0, pairs = 0, resamples = 0;
};
/// Fisher's atanh(correlation) +- z * deviation, z the two-sided normal quantile at `false_alarm`.
/// Percentiles at false alarms of 1e-4 would rest on the extreme resamples of a few dozen runs;
/// the deviation does not. Each resample has its own stream, so results do not depend on `jobs`.
/// Cost O(resamples * pairs log pairs).
Association associate(std::span<const Cluster> clusters, double false_alarm, std::size_t resamples,
                      std::uint64_t seed, int jobs);

/// The share of shuffles of the losses over runs whose correlation is at most (below) or at least
/// (above) the one seen, the seen one counted in: (1 + count) / (1 + shuffles).
struct PermutationTest {
  double below = 1, above = 1;
  std::size_t shuffles = 0;
};
/// Shuffles within strata.
PermutationTest permute_losses(std::span<const Cluster> clusters, std::size_t shuffles,
                               std::uint64_t seed, int jobs);

/// The losses shuffled over the runs of each stratum by stream (seed, shuffle).
std::vector<Cluster> with_shuffled_losses(std::span<const Cluster> clusters, std::uint64_t seed,
                                          std::uint32_t shuffle);

}  // namespace popgrad::joma
