#pragma once
/// Counter-based random streams (Random123, Philox 4x32-10).
///
/// A stream is named by (seed, run, step); its draws are a function of that name and of how many
/// were taken before, so results do not depend on the number of threads or their order.
/// Source: Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).

#include <Random123/philox.h>

#include <cstdint>
#include <span>

namespace popgrad {

class Stream {
 public:
  Stream(std::uint64_t seed, std::uint32_t run, std::uint64_t step);

  /// Uniform on the open interval (0, 1), 53 bits.
  double uniform();
  /// Standard normal (Box-Muller).
  double normal();
  /// Uniform on 0..count-1, count >= 1.
  std::uint32_t index(std::uint32_t count);
  /// i with probability cumulative[i] - cumulative[i-1]; cumulative ends at 1. O(log size).
  std::uint32_t category(std::span<const double> cumulative);

 private:
  std::uint64_t word();

  r123::Philox4x32::key_type key_;
  r123::Philox4x32::ctr_type counter_;
  r123::Philox4x32::ctr_type block_;
  int used_ = 2;  // 64-bit words of block_ already handed out
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace popgrad
