#include "commands/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "commands/host.hpp"

namespace popgrad::cli {
namespace {

constexpr std::chrono::milliseconds between_bars{100};
constexpr std::chrono::seconds until_first_line{2};
constexpr std::chrono::seconds between_lines{10};
/// Share done from which on the time left is shown.
constexpr double enough_for_estimate = 0.01;

}  // namespace

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)),
      form_(quiet                          ? Form::none
            : ::isatty(STDERR_FILENO) != 0 ? Form::bar
                                           : Form::lines) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", standard_error());
}

void Progress::update(double fraction, const std::string& doing) {
  if (host().progress) return host().progress(fraction, what_, doing);
  if (form_ == Form::none) return;
  const Clock::duration since = Clock::now() - last_;
  const Clock::duration between = form_ == Form::bar ? Clock::duration(between_bars)
                                  : last_ == begin_  ? Clock::duration(until_first_line)
                                                     : Clock::duration(between_lines);
  if (since < between) return;
  show(fraction, doing);
}

void Progress::begin(double fraction, const std::string& doing) {
  if (form_ == Form::lines && !host().progress) {
    show(fraction, doing);
  } else {
    update(fraction, doing);
  }
}

void Progress::say(const std::string& text) {
  if (host().progress || form_ == Form::none) return;
  fmt::print(standard_error(), "{}popgrad: {}: {}\n", drawn_ ? "\r\033[K" : "", what_, text);
  drawn_ = false;
}

void Progress::show(double fraction, const std::string& doing) {
  last_ = Clock::now();
  const double seconds = std::chrono::duration<double>(last_ - begin_).count();
  const double done = std::clamp(fraction, 0.0, 1.0);
  const bool estimable = done > enough_for_estimate;
  const double left = estimable ? seconds * (1 - done) / done : 0;
  if (form_ == Form::lines) {
    fmt::print(standard_error(), "popgrad: {}: {:.0f} % after {:.0f} s{}{}{}\n", what_, 100 * done,
               seconds, estimable ? fmt::format(", about {:.0f} s left", left) : "",
               doing.empty() ? "" : ": ", doing);
    return;
  }
  drawn_ = true;
  constexpr int width = 30;
  const int filled = static_cast<int>(done * width);
  std::string tail = doing;
  if (estimable)
    tail = fmt::format("{:.1f} %/s, {:.0f} s left {}", 100 * done / seconds, left, doing);
  fmt::print(standard_error(), "\r\033[K{} [{:#<{}}{:.<{}}] {:3.0f} % {}", what_, "", filled, "",
             width - filled, 100 * done, tail);
  std::fflush(standard_error());
}

}  // namespace popgrad::cli
