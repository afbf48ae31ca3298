#pragma once
/// Runs recorded elsewhere.

#include <optional>
#include <string>
#include <vector>

namespace popgrad {

/// Rows of a run in which a column has no finite number.
struct Gaps {
  std::size_t rows = 0;            ///< of the run
  std::size_t missing = 0;         ///< without a number
  std::optional<double> diverged;  ///< time of the row from which on there is none
};

/// A learning rate that a row has, and that its time was made of.
struct RecordedRate {
  std::string column;
  double rate = 0;
  double t = 0;
};

/// One run on the clock of the rungs.
struct RecordedRun {
  std::string label;  ///< file, or the values that tell it apart
  std::vector<double> t;
  std::vector<std::string> columns;         ///< observables by their names here
  std::vector<std::vector<double>> values;  ///< one list a column; NaN: not logged at that time
  std::vector<Gaps> gaps;                   ///< one a column, of a run that was read
  std::size_t without_time = 0;             ///< rows that were left out
  double last = 0;                          ///< time of its last row; others may go on
  std::vector<RecordedRate> rates;          ///< the first, and the first other one
  double averaged = 1;  ///< runs that this is the mean of: its fluctuation is smaller by the root
};
/// The mean over runs at each time; `averaged` is their number. At least one run.
RecordedRun mean_of(const std::vector<RecordedRun>& runs);

}  // namespace popgrad
