#pragma once
/// The request that long work ends, set by a deadline.
///
/// Every loop that can last asks for it: steps of solvers and walks, enumerations, searches. One
/// request for the whole process, as the loops run on many threads.

#include <chrono>

namespace popgrad {

/// Has the process been asked to end what it does? False inside nested teams of threads, whose work is
/// finished. Cost: a reading of the clock, some 25 ns.
bool stop_asked();

/// Thrown where work cannot end early with what it has. No std::exception, so that no handler takes
/// it for a failure of the work itself.
struct Stopped {};

/// Throws Stopped if stop_asked(), outside teams of threads.
void throw_if_stopped();

/// Asks to stop when it passes, as long as it lives; of nested ones the earliest counts.
class Deadline {
 public:
  explicit Deadline(std::chrono::duration<double> from_now);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::chrono::steady_clock::rep outer_;
};

}  // namespace popgrad
