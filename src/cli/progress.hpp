#pragma once
#include <chrono>
#include <string>

namespace popgrad::cli {

/// A bar with rate and time left on standard error, if that is a terminal and not `quiet`.
class Progress {
 public:
  Progress(std::string what, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Fraction done in [0, 1]; draws at most ten times a second. `doing` is shown behind the bar.
  void update(double fraction, const std::string& doing = {});

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

}  // namespace popgrad::cli
