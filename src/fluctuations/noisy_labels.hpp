#pragma once
/// Labels replaced at random: with a probability rho by one drawn uniformly from all C classes, its
/// own included, whatever else the sample shows.
///
///   P(y | c) = (1 - rho) [y = c] + rho/C

#include <algorithm>
#include <array>
#include <cstdint>

#include "popgrad/fluctuations/draw_law.hpp"
#include "popgrad/scalars/random.hpp"

namespace popgrad {

/// Draws the labels of one step, from a part of its stream that nothing else uses: what else is
/// drawn is the same whatever rho is. A label that is kept at some rho is kept at every smaller
/// one.
class NoisyLabels {
 public:
  /// `stream`: that of the step. 0 <= `noise` <= 1, `classes` >= 1.
  NoisyLabels(const Stream& stream, double noise, Index classes)
      : stream_(stream.skip(first_group)), noise_(noise), classes_(classes) {}

  /// The label of the next sample, which is of the class `own`.
  Index operator()(Index own) {
    if (used_ == words_.size()) {
      stream_.fill(words_);
      used_ = 0;
    }
    const std::uint64_t bits = (std::uint64_t{words_[used_ + 1]} << 32U) | words_[used_];
    used_ += 2;
    const double u = static_cast<double>(bits >> 11U) * 0x1p-53;
    if (u >= noise_) return own;
    // Given u < rho, u/rho is uniform.
    return std::min(static_cast<Index>(u / noise_ * static_cast<double>(classes_)), classes_ - 1);
  }

 private:
  /// 2^31 blocks further on: some 10^10 tokens of the same step come before.
  static constexpr std::uint32_t first_group = 1U << 27U;

  Stream stream_;
  double noise_;
  Index classes_;
  std::array<std::uint32_t, 64> words_{};  ///< a group, two words a label
  std::size_t used_ = words_.size();
};

/// Pairs of class and label whose law is still made: each costs an evaluation, and a column of the
/// factor of a covariance.
inline constexpr Index most_pairs_of_labels = 10'000;

/// The law of (class, label, tokens) from that of (class, tokens): class c with label y is class
/// c C + y of it. Empty where there are more pairs than the limit.
inline DrawLaw with_noisy_labels(const DrawLaw& law, double noise) {
  const Index classes = std::ssize(law.classes);
  DrawLaw pairs{{}, law.length};
  if (classes * classes > most_pairs_of_labels) return pairs;
  for (Index c = 0; c < classes; ++c) {
    const DrawClass& one = law.classes[static_cast<std::size_t>(c)];
    for (Index y = 0; y < classes; ++y) {
      const double label = (y == c ? 1 - noise : 0.0) + noise / static_cast<double>(classes);
      pairs.classes.push_back({one.probability * label, one.tokens});
    }
  }
  return pairs;
}

}  // namespace popgrad
