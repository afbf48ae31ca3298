#pragma once
/// A run recorded elsewhere against what a rung says of it, in units of the fluctuation that is to
/// be expected of such a run.
///
/// At every time and for every observable, with an ensemble of R runs of our own SGD (mean m,
/// deviation s), a run of the same law has (x - m) / (s sqrt(1 + 1/R)) of Student's t, R - 1
/// degrees of freedom, if x is normal. The bound holds for all times, observables and runs at once
/// (Bonferroni); and it is never less than what the largest deviation of a run exceeds with the same
/// probability where its logarithm is of Gumbel's law, with the mean and variance that it has over the
/// ensemble: tails which are not normal do not count against a recorded run.
///
/// Of runs of a predicted law (fluctuations/prediction_error.hpp) there can be many, and their tails are known:
/// the largest deviation itself is then of Gumbel's law, whose tail is exponential, as that of squares of
/// normal numbers is; the bound is wider by as much as the sampled runs reach further on average, and the
/// variance of the mean is 1/R + bias^2, that of a run being 1.

#include <optional>
#include <string>
#include <vector>

#include "fluctuations/prediction_error.hpp"
#include "popgrad/rungs/trajectory.hpp"

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

struct CrossCheckRequest {
  double false_alarm = 1e-3;  ///< probability that a run of the same law is found to leave the band
  double resolution = 1e-6;   ///< relative precision of the recorded numbers (single precision)
  const PredictedRuns* predicted = nullptr;  ///< where the ensemble is theirs
};

/// One observable of one recorded run.
struct ColumnCheck {
  std::string column;
  std::vector<double> deviation;  ///< in units of the expected fluctuation, at each time
  double root_mean_square = 0;
  double largest = 0;  ///< of |deviation|
  double time_of_largest = 0;
  std::optional<double> first_outside;  ///< time at which it first leaves the band, or diverges
  Gaps gaps;                            ///< `diverged` only where a number is expected
};

struct RunCheck {
  std::string label;
  std::vector<ColumnCheck> columns;
  /// The earliest departure over the columns, if any.
  [[nodiscard]] const ColumnCheck* first_departure() const;
};

struct CrossCheck {
  double student_bound = 0;  ///< for all looks at once
  double tail_bound = 0;     ///< from the largest deviations of the ensemble's runs
  double own_largest = 0;    ///< of a run of the ensemble against the others
  double bound = 0;          ///< the larger of the two bounds: the half width of the band
  double looks = 0;          ///< times x observables x runs
  std::vector<RunCheck> runs;
  double root_mean_square = 0;  ///< over all: how well the rung explains the runs; 1 is perfect
  [[nodiscard]] bool consistent() const;
};

/// Time of the first row at which the second order of a prediction changes one of these columns by too
/// much (largest_neglected); none where it never does.
std::optional<double> prediction_ends(const std::vector<Trajectory<double>>& second,
                                      const std::vector<Trajectory<double>>& first,
                                      const std::vector<std::string>& columns, double resolution);

/// `centre`: the rung's own trajectory (one of a deterministic rung), or null for the ensemble's
/// mean. The ensemble, R >= 3 runs, is saved at the times of the recorded runs, which all have the
/// same ones. Cost O(R looks).
CrossCheck cross_check(const std::vector<RecordedRun>& recorded,
                       const std::vector<Trajectory<double>>& ensemble,
                       const Trajectory<double>* centre, const CrossCheckRequest& request);

}  // namespace popgrad
