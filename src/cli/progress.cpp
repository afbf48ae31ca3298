#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace popgrad::cli {

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)), shown_(!quiet && ::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(double fraction, const std::string& doing) {
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double done = std::clamp(fraction, 0.0, 1.0);
  constexpr int width = 30;
  const int filled = static_cast<int>(done * width);
  std::string tail = doing;
  if (done > 0.01) {
    tail = fmt::format("{:.1f} %/s, {:.0f} s left {}", 100 * done / seconds,
                       seconds * (1 - done) / done, doing);
  }
  fmt::print(stderr, "\r\033[K{} [{:#<{}}{:.<{}}] {:3.0f} % {}", what_, "", filled, "",
             width - filled, 100 * done, tail);
  std::fflush(stderr);
}

}  // namespace popgrad::cli
