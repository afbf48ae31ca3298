#pragma once
/// All threads or one for a parallel region that is entered again and again: whichever has been faster.
///
/// Beside another process that uses a core, the thread that shares it is stopped for milliseconds with a
/// share of the work in hand, and all others wait for it at the end of the region: for regions of less
/// than a millisecond two threads are then slower than one. What is computed must not depend on the
/// number of threads. Cost: two readings of a clock a region, and one region in 32 done the slower way.

#include <array>
#include <chrono>

namespace popgrad {

class TeamChoice {
 public:
  /// How the next region is done: by all threads, or by one.
  [[nodiscard]] bool together() const { return tried() != together_; }

  /// What that took.
  void took(double seconds) {
    double& usual = seconds_[together() ? 1 : 0];
    // An exponential average, so that one interruption does not decide.
    usual = usual > 0 ? usual + (seconds - usual) / 4 : seconds;
    if (seconds_[0] > 0 && seconds_[1] > 0) together_ = seconds_[1] <= seconds_[0];
    ++regions_;
  }

  /// Calls region(together) and takes its time.
  template <class Region>
  void run(const Region& region) {
    const auto begin = std::chrono::steady_clock::now();
    region(together());
    took(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

 private:
  // Is this region one that tries the way not taken?
  [[nodiscard]] bool tried() const { return regions_ % 32 == 31; }

  bool together_ = true;
  unsigned regions_ = 0;
  std::array<double, 2> seconds_{};  // usual time: one thread, all; 0: not known
};

}  // namespace popgrad
