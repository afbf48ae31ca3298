#pragma once
/// What is found of recorded runs: row by row, and as wholes, setting by setting.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/base/range.hpp"
#include "popgrad/judging/recorded_run.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace popgrad {

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

/// Runs that leave all others of an ensemble and a log together, at most a tenth of them.
struct EscapedRuns {
  std::size_t own = 0, recorded = 0;
  std::string column;  ///< in which the run that goes furthest does
  double time = 0;     ///< at which
  double chance = 1;   ///< under one law, of as many recorded ones or more among all of them
  bool departs = false;
};

struct CrossCheck {
  double student_bound = 0;  ///< for all looks at once
  double tail_bound = 0;     ///< from the largest deviations of the ensemble's runs
  double own_largest = 0;    ///< of a run of the ensemble against the others
  double bound = 0;          ///< the larger of the two bounds: the half width of the band
  double looks = 0;          ///< times x observables x runs
  std::vector<RunCheck> runs;
  /// Where own runs escape: if no recorded one does, bounds and deviations are of the other own runs.
  EscapedRuns escaped;
  double root_mean_square = 0;  ///< over all: how well the rung explains the runs; 1 is perfect
  [[nodiscard]] bool consistent() const;
  /// The earliest departure over runs and columns, and its run; both null if there is none.
  [[nodiscard]] std::pair<const ColumnCheck*, const RunCheck*> first_departure() const;
};

/// A setting that runs are made with: a number, or a choice that has another value.
struct JudgedSetting {
  std::string name;
  double assumed = 0;       ///< of a number, as the runs are said to have been made
  bool is_choice = false;   ///< then 0 as said and 1 otherwise
  std::string said, other;  ///< of a choice
  bool is_learning_rate = false;
  bool named = false;  ///< by the request's `suspects`
  Range possible;      ///< values that it may have; of a choice 0 to 1
  /// Its name, of a choice with the other value.
  [[nodiscard]] std::string label() const { return is_choice ? name + " " + other : name; }
};

/// Of a setting, with an interval of 95 %, both of values that it may have.
struct SettingEstimate {
  std::optional<Share> interval;  ///< nothing where all of it lies beyond these
  double half_width = 0;  ///< where the interval is symmetric and nothing was cut off; else 0
  /// That the estimate breaks, ">= 0"; `interval` then begins or ends at the nearest possible value. Else empty.
  std::string rule;
};

/// The test of a setting: one sum over all rows of a run, which moves with it.
struct SettingTest {
  JudgedSetting setting;
  bool departs = false;
  double statistic = 0, bound = 0;
  double chance = 0;             ///< of a false alarm
  SettingEstimate estimate;      ///< of the setting by itself, linear; of a choice between 0 and 1
  double standard_error = 0;     ///< of the estimate before it was cut
  double visible = 0;            ///< smallest fault that is found with a probability of 95 %
  double visible_with_more = 0;  ///< the same with more_runs more
  /// Of a choice: probability that runs with the other value are found.
  double power = 0, power_with_more = 0;
  bool of_laws = false;  ///< by how runs fluctuate too, not by their mean only
};

/// The test of what an observable is on average over part of its rows.
struct LevelTest {
  std::string what;
  double statistic = 0, bound = 0;
};

/// A setting put right: the value at which the runs are met best.
struct FittedSetting {
  JudgedSetting setting;
  double value = 0, half_width = 0;  ///< 95 %, linearised
  std::optional<Share>
      interval;  ///< 95 %, where it is not symmetric: of a scatter, or cut to what is possible
  bool explains = false;  ///< nothing departs any more
  std::string why_not;    ///< that there is no value
};

/// How well another rung explains the runs.
struct RungScore {
  std::string rung;
  double root_mean_square = 0;  ///< deviation, 1 is perfect
  bool consistent = false;
  std::string why_not;                ///< that there is no score; or empty
  std::vector<std::string> left_out;  ///< parameters given that it does not read
};

struct Judgement {
  /// `visible_with_more` is of so many more runs.
  static constexpr double more_runs = 5;

  double level = 0;      ///< probability of a false alarm, of all tests together
  double row_level = 0;  ///< of it, for rows
  double recorded_runs = 0;
  double learning_rate = 0;  ///< that the runs are said to have
  bool predicted = false;    ///< by the predicted law of a run, not by an ensemble of sampled ones
  std::string why_sampled;   ///< that the law is not predicted; or empty
  std::size_t own_runs = 0;  ///< sampled
  CrossCheck rows;
  /// Tests of runs as wholes; none if no number that fluctuates was logged.
  bool has_tests = false;
  std::vector<SettingTest> settings;
  std::vector<SettingTest> unseen;  ///< choices that would hardly be found, and are not looked for
  std::vector<std::string> not_tested;  ///< usual suspects whose shift is not predicted well enough
  std::vector<LevelTest> levels;
  std::size_t largest_level = 0;  ///< of `levels`, in units of its bound
  double chance = 0;  ///< of a false alarm, for the scatter and each setting that nobody named
  bool scatter_departs = false;
  double scatter_chance = 0;       ///< of a scatter between runs as far from the expected one
  SettingEstimate batch;           ///< by that scatter
  double assumed_batch = 0;        ///< that the runs are said to have
  bool predicted_weights = false;  ///< rows weighted by the predicted law of a run
  double neglected = 0;  ///< largest bias of a test by the prediction, in deviations of a run
  std::vector<FittedSetting> fits;  ///< where something departs
  /// Another meaning of columns or clock by which runs that depart agree with the rung, in words; or none.
  std::vector<std::string> readings;
  bool fits_interrupted = false;

  [[nodiscard]] bool consistent() const;
  /// Nothing departs, but neither would it with a learning rate that is a tenth off; or recorded runs escape, and
  /// so do sampled ones, too few to say whether as often.
  [[nodiscard]] bool blind() const;
};

}  // namespace popgrad
