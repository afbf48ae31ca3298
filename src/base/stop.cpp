#include "popgrad/base/stop.hpp"

#include "popgrad/base/interruption.hpp"
#include "popgrad/base/stoppable_step.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <limits>

namespace popgrad {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::rep never = std::numeric_limits<Clock::rep>::max();
std::atomic<Clock::rep> deadline{never};

std::atomic<bool> interruption{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // as in a signal handler
std::atomic<std::int64_t> questions_left{-1};           // negative: not counted

Clock::rep now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

void interrupt_process() noexcept { interruption = true; }

void interrupt_process_at(std::int64_t question) noexcept { questions_left = question; }

void withdraw_interruption() noexcept {
  questions_left = -1;
  interruption = false;
}

bool process_interrupted() noexcept {
  if (questions_left.load(std::memory_order_relaxed) >= 0 && questions_left.fetch_sub(1) == 0) {
    interrupt_process();
  }
  return interruption.load(std::memory_order_relaxed);
}

bool stop_asked() {
  if (omp_get_level() > 1) return false;
  if (process_interrupted()) return true;
  const Clock::rep at = deadline.load(std::memory_order_relaxed);
  return at != never && now() >= at;
}

void throw_if_stopped() {
  // No exception may leave a team of threads.
  if (omp_get_level() == 0 && stop_asked()) throw Stopped{};
}

namespace {
thread_local bool step_stops = false;
}

StoppableStep::StoppableStep() { step_stops = true; }
StoppableStep::~StoppableStep() { step_stops = false; }

void throw_if_step_stopped(std::int64_t draw) {
  constexpr std::int64_t between = 1024;  // a draw may take some 10 ns, a question 25
  if (draw % between == between - 1) throw_if_step_stopped();
}

void throw_if_step_stopped() {
  if (step_stops && stop_asked()) throw Stopped{};
}

Deadline::Deadline(std::chrono::duration<double> from_now) : outer_(deadline.load()) {
  // Beyond a century the sum would overflow.
  constexpr std::chrono::duration<double> century{3.2e9};
  const auto span = std::chrono::duration_cast<Clock::duration>(std::min(from_now, century));
  deadline = std::min(outer_, now() + span.count());
}

Deadline::~Deadline() { deadline = outer_; }

}  // namespace popgrad
