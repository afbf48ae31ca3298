#pragma once
/// Counter-based random streams (Random123, Philox 4x32-10).
///
/// A stream is named by (seed, run, step); its draws are a function of that name and of how many
/// were taken before, so results do not depend on the number of threads or their order.
/// Source: Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace popgrad {

/// Draws from a fixed law in O(1): Walker's alias method in whole numbers of 32 bits, so that a
/// probability is met to size/2^32. Built in O(size).
/// Source: Vose, A linear algorithm for generating random numbers with a given distribution (1991).
class AliasTable {
 public:
  AliasTable() = default;
  /// `law`: probabilities that sum to 1 up to rounding, at least one. Zeros are never drawn.
  explicit AliasTable(std::span<const double> law);
  /// The category that 32 random bits stand for.
  [[nodiscard]] std::uint32_t operator()(std::uint32_t bits) const {
    const std::uint64_t scaled = std::uint64_t{bits} * cells_.size();
    const std::uint64_t cell = cells_[scaled >> 32U];
    return (scaled & 0xFFFFFFFFU) < (cell & 0xFFFFFFFFU) ? static_cast<std::uint32_t>(scaled >> 32U)
                                                         : static_cast<std::uint32_t>(cell >> 32U);
  }
  /// The same for many, in wide vectors; at most 65536 categories.
  void draw(std::span<const std::uint32_t> bits, std::span<std::uint16_t> categories) const;

 private:
  /// Low half: share of the cell that is its own, in 2^-32. High half: whose the rest is.
  std::vector<std::uint64_t> cells_;
};

class Stream {
 public:
  Stream(std::uint64_t seed, std::uint32_t run, std::uint64_t step);

  /// Uniform on the open interval (0, 1), 53 bits.
  double uniform() {
    // Centred in their cells: neither 0 nor 1 can come out.
    return (static_cast<double>(word() >> 11U) + 0.5) * 0x1p-53;
  }
  /// Standard normal (Box-Muller).
  double normal();
  /// Standard normals, 64 to a group of 16 blocks, in wide vectors: a twentieth of the time of
  /// `normal`. Draws of their own, from Philox 4x32-7, the fewest rounds that pass all tests of its
  /// authors; whole groups are taken. Radius and angle have 32 bits: no |z| above 6.77, beyond
  /// which the law has 1.3e-11. Agrees with the plain formula to 1e-13.
  void normals(std::span<double> out);
  /// Groups that `normals` takes for so many numbers.
  [[nodiscard]] static std::uint32_t groups(std::size_t count) {
    return static_cast<std::uint32_t>((count + 63) / 64);
  }
  /// This stream, `groups` groups of normals further on: threads share the parts of one step.
  [[nodiscard]] Stream skip(std::uint32_t groups) const;
  /// 64 random bits.
  std::uint64_t bits() { return word(); }
  /// Uniform on 0..count-1, count >= 1.
  std::uint32_t index(std::uint32_t count) {
    const double scaled = uniform() * static_cast<double>(count);
    return std::min(static_cast<std::uint32_t>(scaled), count - 1);
  }
  /// i with probability cumulative[i] - cumulative[i-1]; cumulative ends at 1. O(log size).
  std::uint32_t category(std::span<const double> cumulative);
  /// counts[i] += number of times that i comes out in `draws` draws. Four draws a block of Philox.
  void count(const AliasTable& law, std::size_t draws, std::span<std::uint32_t> counts);
  /// 32 random bits each, of Philox 4x32-7, by groups of 16 blocks; whole groups are taken.
  void fill(std::span<std::uint32_t> bits);

 private:
  std::uint64_t word() {
    if (at_ == end_) make_words();
    return words_[at_++];
  }
  void make_words();
  /// Gives back the blocks that were made ahead, but for the one that is being handed out.
  void forget_blocks_ahead();

  [[nodiscard]] std::array<std::uint32_t, 2> key() const { return {key_[0], key_[1]}; }
  /// The counter, which is moved on by so many blocks.
  std::array<std::uint32_t, 4> take_blocks(std::uint32_t blocks);

  r123::Philox4x32::key_type key_;
  /// Of the block after those in `words_`.
  r123::Philox4x32::ctr_type counter_;
  std::array<std::uint64_t, 32> words_;  ///< two a block
  std::uint32_t at_ = 0, end_ = 0;   ///< those from `at_` on, before `end_`, are to be handed out
  std::uint32_t single_blocks_ = 0;  ///< that were made one by one
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace popgrad
