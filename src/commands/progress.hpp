#pragma once
#include <chrono>
#include <string>

namespace popgrad::cli {

/// What is being done, on standard error: a bar with rate and time left if that is a terminal, else a
/// line now and then; nothing if `quiet`.
class Progress {
 public:
  Progress(std::string what, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Fraction done in [0, 1]; draws at most ten times a second, writes a first line after two
  /// seconds and others at most every ten. `doing` is shown behind it.
  void update(double fraction, const std::string& doing = {});
  /// A part begins that may take minutes: a line for certain, where there is no bar.
  void begin(double fraction, const std::string& doing);
  /// A line for certain, of what is found before the end.
  void say(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Form { none, bar, lines };
  std::string what_;
  Form form_;
  bool drawn_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;

  void show(double fraction, const std::string& doing);
};

}  // namespace popgrad::cli
