#pragma once
/// Who interrupts the process, and who asks for that: signals, a program around it, tests. Work asks for
/// any request to stop, by popgrad/base/stop.hpp.

#include <cstdint>

namespace popgrad {

/// stop_asked() from now on, until withdrawn. May be called by a signal handler.
void interrupt_process() noexcept;
/// The same at that question from now, counting those of stop_asked and process_interrupted: for tests,
/// which cannot place a signal.
void interrupt_process_at(std::int64_t question) noexcept;
/// Takes an interruption back, before the next command.
void withdraw_interruption() noexcept;
/// Was it interrupted? Deadlines do not count.
bool process_interrupted() noexcept;

}  // namespace popgrad
