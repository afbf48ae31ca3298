#pragma once
/// What stands around a command: a terminal, or a program that calls commands as functions (the Python
/// module), which keeps what they print, follows progress, may stop them, gives files in memory, and takes
/// results as they are instead of as files. The caller passes it with the words (Invocation).

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bound.hpp"
#include "io/given_files.hpp"
#include "io/run_record.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad::cli {

/// What commands hand over in place of the file that -o or --json name.
struct Results {
  std::optional<RunRecord<double>> run;  ///< of `run`, and of `compare` with its table
  std::optional<RunRecord<Real>> run_in_digits;
  std::string document;  ///< JSON of `verify`, `falsify`, `landscape`, `list`
  std::string table;     ///< CSV of `sweep` and of a slice
  std::string failure;   ///< why a command ended with status 4, in one line
  /// Of `landscape`: what it is of; with --grid values[j * xs.size() + i] at (xs[i], ys[j]).
  std::string title;
  std::vector<double> xs, ys, values;
};

struct Host {
  std::FILE* output = stdout;
  std::FILE* errors = stderr;
  /// Share done, what is done, and at which part of it; empty: printed on standard error. Calls come from
  /// any thread, one at a time.
  std::function<void(double, const std::string&, const std::string&)> progress;
  std::function<bool()> interrupted;  ///< empty: only by a signal
  GivenFiles files;                   ///< in memory, under names that stand where a path would
  bool own_process = false;           ///< the memory of the process is that of the command
};

/// Of the command that is carried out (Invocation::host); outside one a terminal.
inline const Host& host() { return Bound<Host>::get(); }

/// Of a program of its own, before anything is opened or printed: the descriptors of closed streams are
/// taken, so that no file gets them, and a standard error that cannot be written is no failure.
Host host_of_program();

/// Prints the line that gives the reason of status 4; results, if not null, keep the first one.
void report_failure(const std::string& line, Results* results);

inline std::FILE* standard_output() { return host().output; }
inline std::FILE* standard_error() { return host().errors; }

}  // namespace popgrad::cli
