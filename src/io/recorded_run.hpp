#pragma once
/// Tables of runs recorded elsewhere, read as runs on the clock of the rungs.

#include <map>
#include <string>
#include <vector>

#include "popgrad/judging/recorded_run.hpp"

namespace popgrad {

/// Which rows count where the time of a run goes back over rows that it has already.
enum class Restarts { refuse, keep_last, keep_first, new_run };

/// What the columns of the files mean.
struct RecordedLayout {
  /// Observable -> column, or after a ~ a regular expression that one column matches; `t` -> column of the
  /// time. Without an observable, the columns with names of observables.
  std::map<std::string, std::string> columns = {};
  std::vector<std::string> group = {};  ///< columns whose values tell runs apart
  /// A formula over the columns of a file, such as `lr*step`, or a number times the column
  /// of the time.
  std::string clock = "1";
  bool runs_in_columns = false;  ///< columns are RUN - METRIC, and named by METRIC here
  Restarts restarts = Restarts::refuse;
};

struct RecordedFiles {
  std::vector<RecordedRun> runs;
  std::vector<std::string>
      notes;  ///< what was taken for granted, left out or filled in, a line each
};

/// Every run of every file that read_table takes, in order; all on the union of their times, NaN
/// where a run has none. Numbers that end in nan, inf or a gap longer than any before have diverged. Runs with
/// the same numbers wherever both have some count as one, with the rows of both. `observables` are those that a rung has. Throws InputError naming file,
/// line and column.
RecordedFiles read_recorded_runs(const std::vector<std::string>& files, RecordedLayout layout,
                                 const std::vector<std::string>& observables);

}  // namespace popgrad
