#pragma once
/// Recorded runs judged as wholes (judging/score_test.hpp): which faults they show, how large, and
/// which would have been seen.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluctuations/prediction_error.hpp"
#include "judging/claimed_runs.hpp"
#include "judging/linear_ensembles.hpp"
#include "judging/run_score.hpp"
#include "judging/score_test.hpp"
#include "popgrad/rungs/rung_fwd.hpp"

namespace popgrad {

/// What is tested, and the level of the tests.
struct WholeRunRequest {
  ClaimedRuns claimed;
  std::vector<std::string> suspects;  ///< to be tested beside the usual ones
  double false_alarm = 8e-4;          ///< of all settings and the scatter; most of it of named ones
  double false_alarm_levels = 1e-4;   ///< of all levels of observables
  double false_alarm_rows = 1e-4;     ///< of all single rows, where a setting is to explain runs
  double resolution = 1e-6;
  bool fresh_starts = false;
  bool predict = true;  ///< where that holds; else all runs are sampled
};

/// Of recorded runs against one ensemble.
struct WholeRunTests {
  struct Fault {
    Suspect suspect;
    ScoreTest test;
    double chance = 0;     ///< of a false alarm
    bool of_laws = false;  ///< by how runs fluctuate too, not by their mean alone
    double there = 1;      ///< deviation of a run with the other choice, in units of its shift
  };
  struct Level {
    std::string what;  ///< observable and part of its rows
    ScoreTest test;
  };
  std::vector<Fault> faults;
  std::vector<Level> levels;
  std::vector<std::string> not_tested;  ///< usual suspects whose shift is not predicted well enough
  std::vector<Fault> unseen;  ///< choices that would hardly be found, and are not looked for
  ScatterTest scatter;
  double chance = 0;        ///< of a false alarm, for the scatter and each fault that nobody named
  double level_chance = 0;  ///< the same for each level
  bool predicted = false;   ///< weights from the predicted law of a run, not from runs
  double neglected = 0;     ///< largest bias of a test (PredictionError); 0 of a sampled ensemble

  [[nodiscard]] const Level& largest_level() const;
  [[nodiscard]] bool scatter_departs() const { return scatter.chance() < chance; }
  [[nodiscard]] bool departs(const Fault& fault) const;
  /// What the statistic of a fault has to exceed, on the side where it is. For a fault of one sign: above,
  /// which has all of the chance. Of a batch four fifths of the chance are for a larger one: a smaller one
  /// by the same factor moves runs twice as far.
  [[nodiscard]] double bound(const Fault& fault) const;
  /// The same on one side.
  [[nodiscard]] double bound(const Fault& fault, ScoreTest::Side side) const;
  [[nodiscard]] bool consistent() const;
  /// By how much a statistic of a sum exceeds its bound at the most, negative where none does; but for the batch.
  [[nodiscard]] double largest_excess() const;
  /// The same tests with all chances of a false alarm times the factor.
  [[nodiscard]] WholeRunTests with_chances_times(double factor) const;
  /// Smallest fault of a suspect that is found with a probability of 95 %, with `runs` recorded runs
  /// where there are `now`.
  [[nodiscard]] double visible(const Fault& fault, double now, double runs) const;
  /// Probability that runs with the other choice are found, with `runs` where there are `now`.
  [[nodiscard]] double power(const Fault& fault, double now, double runs) const;
};

/// A suspect put right: the value at which the runs are met best, and what is left then.
struct FittedFault {
  Suspect suspect;
  double value = 0, half_width = 0;  ///< 95 %, linearised
  std::optional<Share> interval;     ///< 95 %, where it is not symmetric: of a scatter
  bool explains = false;             ///< no test and no row departs any more
  std::string why_not;               ///< that there is no value
};

class WholeRuns {
 public:
  /// Predicts the runs that stand in for an ensemble, and samples 32 to 128 to see that they do. Where that does
  /// not hold: simulates what the tests need beside the ensemble, as many runs for the correlation, and
  /// 16 for every suspect. Throws InputError for a suspect that is not a number of the rung.
  WholeRuns(WholeRunRequest request, const std::vector<RecordedRun>& recorded,
            const Report& report);

  WholeRuns(const WholeRuns&) = delete;  // linear runs refer to the request
  WholeRuns& operator=(const WholeRuns&) = delete;

  /// Numbers that all runs have and that fluctuate; without any there is no test.
  [[nodiscard]] Index numbers() const { return logged_->size(); }
  /// Whether the correlation of rows is that of the predicted law (popgrad/fluctuations/linear_runs.hpp), in place of an
  /// estimate from runs.
  [[nodiscard]] bool predicts() const {
    return correlation_ != nullptr && correlation_->is_predicted();
  }
  /// Runs in place of an ensemble, or null: then `why_not` says why there are none.
  [[nodiscard]] const PredictedRuns* predicted_runs() const { return predicted_.get(); }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] double recorded_runs() const { return static_cast<double>(runs_.size()); }
  /// `centre`: the trajectory of a rung without noise, or null. `of_prediction`: the ensemble is of the
  /// predicted law.
  [[nodiscard]] WholeRunTests tests(const std::vector<Trajectory<double>>& ensemble,
                                    const Trajectory<double>* centre, bool of_prediction) const;
  /// The same, where all that departs does so narrowly, within 1.5 times its bound, and not from further sampled runs:
  /// then their tests count. How far a tail reaches is known badly from few runs, or from orders of a prediction, and a
  /// departure that is one of their error is no fault of the runs. Cost: up to 1024 sampled runs.
  [[nodiscard]] WholeRunTests confirmed(const WholeRunTests& found, const Report& report) const;
  /// Each suspect that departs or, where anything does, is named, and momentum, alone at the value that suits
  /// the runs best; where none of these explains the runs, every other suspect too, and where those do not either, faults
  /// of the data in training only. Those that explain the runs come first. The batch is sought by the scatter between runs too, where that departs or its mean
  /// explains nothing. Cost: an ensemble for each of a few values.
  [[nodiscard]] std::vector<FittedFault> fits(const WholeRunTests& found,
                                              const Report& report) const;

 private:
  struct Known {
    Suspect suspect;
    Vector<double> weights;  ///< of the mean alone, for fits; empty for a choice
    RunScore score;
    PredictionError error;
    double there = 1;                       ///< WholeRunTests::Fault
    Vector<double> of_recorded, of_likely;  ///< the score of these runs
  };
  struct KnownLevel {
    std::string what;
    Vector<double> weights;
    PredictionError error;
  };
  /// Everything that is fixed before an ensemble is looked at.
  void prepare(const std::vector<RecordedRun>& recorded, const Report& report);
  /// Sets predicted_, or why_not_.
  void predict(const std::vector<std::string>& columns, const Report& report);
  /// The first suspect, of which what is claimed is one value.
  [[nodiscard]] Suspect as_claimed() const;
  /// Number of runs that together make this number of draws, between `fewest` and `most`.
  [[nodiscard]] std::uint32_t runs_of_draws(double draws, double fewest, double most) const;
  /// What prediction leaves out of this number.
  [[nodiscard]] PredictionError error_of(const RunScore& score) const;
  /// Of the scores of a fault, by lambda and with or without the covariance, that by which the smallest
  /// fault is found, as far as predicted runs tell. Nothing where its law is not predicted.
  [[nodiscard]] std::optional<RunScore> best_score(const Suspect& suspect) const;
  /// How far a run with the other choice varies, in units of its shift, and 0 where that is not known.
  [[nodiscard]] double deviation_there(const Suspect& suspect, const RunScore& score) const;
  /// Why the tests cannot be made of predicted runs; empty if they can.
  [[nodiscard]] std::string objection() const;
  [[nodiscard]] std::vector<Trajectory<double>> simulate(const Suspect& suspect, double value,
                                                         std::uint32_t runs,
                                                         std::uint32_t first_run,
                                                         const Report& report) const;
  /// Takes the predicted correlation where, over runs that neither knows (a column each), the sum
  /// weighted for this shift fluctuates less by it.
  void prefer_prediction(const Matrix<double>& judges, const Vector<double>& shift);
  /// Shift of the mean a unit of the suspect, from equal draws. Of the batch, which changes the draws: where
  /// linear runs have it, else 0.
  [[nodiscard]] Vector<double> shift_by(const Suspect& suspect, const Report& report) const;
  /// Gives each test its chance of a false alarm.
  void share_level(WholeRunTests& tests) const;
  /// What a fit goes by: linear runs or a few sampled ones, more sampled ones near the value, then as many as
  /// judge.
  enum class Search { linear, rough, sampled, all };
  /// Whether searches go by linear runs, which cost less than sampled ones of many draws.
  [[nodiscard]] bool linear_runs_search() const;
  /// Runs with the suspect at this value, and whether they are linear.
  using Moved = std::pair<std::vector<Trajectory<double>>, bool>;
  [[nodiscard]] Moved moved(const Suspect& suspect, double value, Search search,
                            const Report& report) const;
  /// Whether no row departs from sampled runs; with another setting than claimed the second order of predicted ones is
  /// not known.
  [[nodiscard]] bool rows_agree(const std::vector<Trajectory<double>>& ensemble) const;
  [[nodiscard]] FittedFault fit(const Known& known, const Report& report) const;
  /// The batch at which the runs scatter as the recorded ones do.
  [[nodiscard]] FittedFault fit_of_scatter(const ScatterTest& found, const Report& report) const;
  [[nodiscard]] FittedFault fit_of_choice(const Known& known, const Report& report) const;
  [[nodiscard]] std::optional<FittedFault> fit_of_momentum(const Report& report) const;
  /// Of a suspect that is not among those known, whose unit shifts the mean so; nothing where it does not.
  [[nodiscard]] std::optional<FittedFault> fit_by_shift(const Suspect& suspect,
                                                        const Vector<double>& shift,
                                                        const Report& report) const;
  /// Of a fault of the data that steps were taken with, the log being of other data: labels with noise in training, a
  /// loss of clean ones. Nothing where what was logged is the same.
  [[nodiscard]] std::optional<FittedFault> fit_in_training_only(const Suspect& suspect,
                                                                const Report& report) const;

  WholeRunRequest request_;
  std::vector<RecordedRun> runs_;  ///< recorded
  LinearEnsembles linear_;
  std::unique_ptr<PredictedRuns> predicted_;
  std::string why_not_;
  ScatterTest sampled_scatter_;  ///< of sampled runs against predicted ones
  std::unique_ptr<LoggedNumbers> logged_;
  Matrix<double> spread_;  ///< sampled runs of other draws than the ensemble's, a column each
  std::optional<Matrix<double>> likely_;            ///< many linear runs
  Matrix<double> first_order_, predicted_numbers_;  ///< of predicted_: first, ensemble
  std::unique_ptr<LikelyRuns> law_;                 ///< of likely_, where the ensemble is predicted
  std::unique_ptr<RunCorrelation> correlation_;
  Matrix<double> recorded_;
  std::vector<Known> known_;
  std::vector<std::string> not_tested_;
  std::vector<KnownLevel> levels_;
  mutable std::optional<std::vector<Trajectory<double>>> few_as_said_;  ///< that fits begin with
};

}  // namespace popgrad
