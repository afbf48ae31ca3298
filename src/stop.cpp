#include "popgrad/stop.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <limits>

namespace popgrad {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::rep never = std::numeric_limits<Clock::rep>::max();
std::atomic<Clock::rep> deadline{never};

Clock::rep now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

bool stop_asked() {
  const Clock::rep at = deadline.load(std::memory_order_relaxed);
  return at != never && omp_get_level() <= 1 && now() >= at;
}

void throw_if_stopped() {
  // No exception may leave a team of threads.
  if (omp_get_level() == 0 && stop_asked()) throw Stopped{};
}

Deadline::Deadline(std::chrono::duration<double> from_now) : outer_(deadline.load()) {
  // Beyond a century the sum would overflow.
  constexpr std::chrono::duration<double> century{3.2e9};
  const auto span = std::chrono::duration_cast<Clock::duration>(std::min(from_now, century));
  deadline = std::min(outer_, now() + span.count());
}

Deadline::~Deadline() { deadline = outer_; }

}  // namespace popgrad
