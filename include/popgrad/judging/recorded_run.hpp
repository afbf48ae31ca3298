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

/// A constant rate that a clock gives to a column that counts steps, such as 0.1 of 0.1*step.
struct ClockRate {
  double rate = 0;               ///< a step
  std::vector<double> literals;  ///< numbers in the formula of the clock
};

/// How numbers of a column were rounded when they were written: to multiples of `unit`, and to at most
/// `significant` digits.
struct WrittenDigits {
  double unit = 0;       ///< 0: not rounded
  int significant = 17;  ///< of a double

  /// The number as it would have been written.
  [[nodiscard]] double rounded(double x) const;
  /// Between neighbours of such numbers near x.
  [[nodiscard]] double unit_at(double x) const;
};
/// All numbers have as many places after the point, or as many significant digits, as the one that has most.
WrittenDigits digits_of(const std::vector<double>& column);

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
  std::optional<ClockRate> clock_rate;      ///< where only such a column makes the time
  std::vector<WrittenDigits> digits;        ///< one a column, or empty: not known
  double averaged = 1;  ///< runs that this is the mean of: its fluctuation is smaller by the root
};
/// Of a column over runs: the fewest digits.
WrittenDigits digits_of(const std::vector<RecordedRun>& runs, std::size_t column);
/// The mean over runs at each time; `averaged` is their number. At least one run.
RecordedRun mean_of(const std::vector<RecordedRun>& runs);

}  // namespace popgrad
