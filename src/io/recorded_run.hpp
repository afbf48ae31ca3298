#pragma once
/// Tables of runs recorded elsewhere, read as runs on the clock of the rungs.

#include <map>
#include <string>
#include <vector>

#include "popgrad/judging/recorded_run.hpp"

namespace popgrad {

/// What the columns of the files mean.
struct RecordedLayout {
  std::map<std::string, std::string> columns;  ///< observable -> column; `t` -> column of the time
  std::vector<std::string> group;              ///< columns whose values tell runs apart
  /// A formula over the columns of a file, such as `lr*step`, or a number times the column
  /// of the time.
  std::string clock = "1";
};

/// Every run of every file (.csv, .npz, .jsonl), in order; all on the union of their times, NaN
/// where a run has none. Numbers that end in nan, inf or a gap longer than any before have diverged. `observables` are those that a rung has: a column with the name of one
/// needs no entry in the layout. Throws InputError naming file, column and row.
std::vector<RecordedRun> read_recorded_runs(const std::vector<std::string>& files,
                                            RecordedLayout layout,
                                            const std::vector<std::string>& observables);

}  // namespace popgrad
