#pragma once
/// Drawing from the laws of a loss, and samples that stand for them.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "learning/loss_arrays.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::learning {

/// A block of samples of draws: variables with a first axis, and what they stand for in formulas of one sample.
struct DrawnBlock {
  std::vector<formulas::Samples> samples;  ///< for over_batch
  std::vector<Array> variables;            ///< to be written, in the order of the draws
};
/// `draws` as read_draws gives them. Those whose probabilities depend on others are drawn by the evaluator, from
/// uniform numbers.
DrawnBlock drawn_block(LossArrays& arrays, const std::vector<Draw>& draws, const Dimension& size);
/// The same with values that are written, as enumerated ones are.
DrawnBlock given_block(LossArrays& arrays, const std::vector<Draw>& draws, Index size);

/// Numbers for the variables of drawn_block.
class DrawSampler {
 public:
  DrawSampler(const LossArrays& arrays, std::vector<Draw> draws,
              const std::vector<std::vector<double>>& parameters);

  [[nodiscard]] const std::vector<Draw>& draws() const { return draws_; }
  /// Of draw k, for `size` samples: size * entries numbers. They depend on `seed`, `part` and the name of the draw.
  void fill(std::size_t k, std::uint64_t seed, std::uint64_t part, std::span<double> numbers) const;
  [[nodiscard]] std::size_t entries(std::size_t k) const;

 private:
  std::vector<Draw> draws_;
  std::vector<std::vector<double>>
      cumulative_;  ///< of categorical; of bernoulli the probability of 1, an entry each
};

/// Samples that stand for the laws of draws: by the name of a draw its numbers, one sample after the other.
struct StoredSamples {
  Index count = 0;
  std::map<std::string, std::vector<double>, std::less<>> numbers;
  /// Those of a draw from the sample `first` on.
  void copy(const Draw& draw, Index first, std::span<double> to) const;
};
StoredSamples stored_samples(const DrawSampler& sampler, Index count, std::uint64_t seed);

/// Probabilities have to sum to 1 to 1e-9, for all values of the draws that they depend on, and covariances be
/// positive semidefinite. Throws InputError naming the draw. Not checked are probabilities that depend on draws of more
/// than 1e6 values, and covariances that depend on draws.
void require_laws(const SampleLoss& written, const LossArrays& arrays,
                  const std::vector<std::vector<double>>& parameters);

}  // namespace popgrad::learning
