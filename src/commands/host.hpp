#pragma once
/// What stands around a command: a terminal, or a program that calls commands as functions (the Python
/// module), which keeps what they print, is told of progress, may stop them, and takes their results as
/// they are instead of as files.

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/run_record.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad::cli {

/// What commands hand over beside, or in place of, the file that -o or --json name.
struct Results {
  std::optional<RunRecord<double>> run;  ///< of `run`, and of `compare` with its table
  std::optional<RunRecord<Real>> run_in_digits;
  std::string document;  ///< JSON of `verify`, `falsify`, `landscape`, `list`
  std::string table;     ///< CSV of `sweep` and of a slice
  /// Of `landscape`: what it is of; with --grid values[j * xs.size() + i] at (xs[i], ys[j]).
  std::string title;
  std::vector<double> xs, ys, values;
};

struct Host {
  std::FILE* output = stdout;
  std::FILE* errors = stderr;
  /// Share done, what is done, and at which part of it; empty: told on standard error. Calls come from
  /// any thread, one at a time.
  std::function<void(double, const std::string&, const std::string&)> progress;
  std::function<bool()> interrupted;  ///< empty: by SIGINT alone
  Results* results = nullptr;         ///< null: files alone
};

/// Of the process: one command runs at a time.
Host& host();

/// Of a program of its own, before anything is opened or printed: the descriptors of closed streams are
/// taken, so that no file gets them, and a standard error that cannot be written is no failure.
void settle_standard_streams();

inline std::FILE* standard_output() { return host().output; }
inline std::FILE* standard_error() { return host().errors; }

}  // namespace popgrad::cli
