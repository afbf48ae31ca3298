#pragma once
/// One command at a time from Python: turns, signals, what is printed, progress.

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "popgrad/base/interruption.hpp"

namespace popgrad::python {

namespace py = pybind11;

inline constexpr std::chrono::milliseconds between_signals{50};
inline constexpr std::chrono::milliseconds between_reports{100};

/// Commands use all cores and one Host, so a second call waits for the first.
inline std::timed_mutex& in_use() {
  static std::timed_mutex mutex;
  return mutex;
}

/// Set while this thread runs a callback of a command.
inline bool& in_callback() {
  thread_local bool within = false;
  return within;
}

/// Waits with signals looked at, so that Ctrl-C ends the wait too.
inline std::unique_lock<std::timed_mutex> take_turn() {
  if (in_callback()) {
    throw std::runtime_error(
        "popgrad: a progress callback cannot start another computation; keep what it is given, and "
        "compute afterwards");
  }
  std::unique_lock<std::timed_mutex> lock(in_use(), std::defer_lock);
  while (true) {
    {
      const py::gil_scoped_release without_lock;
      if (lock.try_lock_for(between_signals)) break;
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  return lock;
}

inline std::atomic<bool> asked_to_stop{false};

/// For the loops of the command (popgrad/base/stop.hpp), and for those who ask afterwards.
inline void ask_to_stop() noexcept {
  asked_to_stop = true;
  interrupt_process();
}

extern "C" inline void popgrad_python_on_signal(int /*signal*/) { ask_to_stop(); }

/// SIGINT stops the command while this is alive; afterwards Python's own handler is told of it.
class SignalWatch {
 public:
  explicit SignalWatch(bool main_thread) {
    asked_to_stop = false;
    withdraw_interruption();
    if (!main_thread) return;  // Python gives signals to its main thread alone
    struct sigaction ours {};
    ours.sa_handler = popgrad_python_on_signal;
    sigemptyset(&ours.sa_mask);
    ::sigaction(SIGINT, nullptr, &before_);
    if (before_.sa_handler == SIG_IGN) return;
    ::sigaction(SIGINT, &ours, nullptr);
    installed_ = true;
  }
  ~SignalWatch() {
    withdraw_interruption();
    if (installed_) ::sigaction(SIGINT, &before_, nullptr);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  struct sigaction before_ {};
  bool installed_ = false;
};

/// A stream into memory.
class Text {
 public:
  Text() : stream_(::open_memstream(&bytes_, &size_)) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~Text() {
    std::fclose(stream_);
    std::free(bytes_);
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  std::FILE* stream() { return stream_; }
  std::string text() {
    std::fflush(stream_);
    return {bytes_, size_};
  }

 private:
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

/// Calls the progress callback now and then, with the lock of Python; what it throws stops the command.
class Reporter {
 public:
  explicit Reporter(py::object callback) : callback_(std::move(callback)) {}

  void operator()(double share, const std::string& what, const std::string& doing) {
    const auto now = std::chrono::steady_clock::now();
    if (failure_ || now - last_ < between_reports) return;
    last_ = now;
    const py::gil_scoped_acquire lock;
    in_callback() = true;
    try {
      callback_(share, doing.empty() ? what : what + " " + doing);
    } catch (py::error_already_set& error) {
      failure_ = std::make_unique<py::error_already_set>(error);
      ask_to_stop();
    }
    in_callback() = false;
  }
  /// With the lock of Python held.
  py::object exception() {
    if (!failure_) return py::none();
    py::object value = failure_->value();
    if (failure_->trace()) value.attr("__traceback__") = failure_->trace();
    failure_.reset();
    return value;
  }

 private:
  py::object callback_;
  std::chrono::steady_clock::time_point last_;
  std::unique_ptr<py::error_already_set> failure_;
};

}  // namespace popgrad::python
