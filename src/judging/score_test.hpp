#pragma once
/// Recorded runs as wholes against an ensemble: weighted sums over all rows.
///
/// A fault moves the mean of a run a little at many rows, which a bound at single rows does not see.
/// With y all that was logged of a run (every observable at every time, in units of its deviation) and
/// d the shift that a fault of unit size makes, the sum
///   z = w'y,   w = S^-1 d / (d' S^-1 d),   S = (1 - lambda) C + lambda I
/// moves by 1 for a unit of the fault, and has the least variance of all such sums where S is the
/// correlation of y (the score of a normal law; Rao, Proc. Camb. Phil. Soc. 44 (1948) 50). d and, where
/// it is not predicted (popgrad/fluctuations/linear_runs.hpp), C come from runs of other draws than those of the
/// ensemble, so that w is fixed before these are looked at; then
///   (mean z of R recorded runs - mean z of M own runs) / (s sqrt(1/R + 1/M))
/// is of Student's t with M - 1 degrees of freedom where z is normal; where it is not, bounds are widened
/// by what the ensemble's own runs do, drawn by R against the others. lambda keeps what few runs know
/// badly of C from being weighted most, and falls with their number (Ledoit and Wolf, J. Multivariate
/// Anal. 88 (2004) 365). A predicted C is known in all directions: S = C + lambda I, with the lambda under
/// which the smallest shift is found: without it, directions that hardly fluctuate are weighted most, and
/// what moves them is how curved the observables are. With any weights the level is kept.
///
/// Where the M own runs are of a predicted law (fluctuations/prediction_error.hpp), s is as much wider as sampled
/// runs say of this sum, their mean is corrected by what these say of it, and what is left unsure of that adds
/// to 1/M. The sum may be any number that is made of a run alone (judging/run_score.hpp).

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "judging/cross_check.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/vector.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace popgrad {

/// Runs as vectors of the numbers that every recorded run has and that fluctuate, each in units of its
/// standard deviation over `spread`. Of an observable that is positive and less skewed so, its
/// logarithm; numbers with rare jumps (kurtosis above 10) are left out. Rows of trajectories are those
/// of the recorded runs.
class LoggedNumbers {
 public:
  LoggedNumbers(const std::vector<RecordedRun>& recorded,
                const std::vector<Trajectory<double>>& spread, double resolution);

  [[nodiscard]] Index size() const { return static_cast<Index>(numbers_.size()); }
  /// (size x runs); means of several recorded runs are left out.
  [[nodiscard]] Matrix<double> of(const std::vector<RecordedRun>& runs) const;
  /// Rounded as the recorded ones were written.
  [[nodiscard]] Matrix<double> of(const std::vector<Trajectory<double>>& runs) const;
  /// The numbers of one observable in part `part` of `parts` equal parts of its rows: 1 there, else 0.
  [[nodiscard]] Vector<double> level_of(std::size_t column, std::size_t part,
                                        std::size_t parts) const;

 private:
  struct Number {
    std::size_t column, row;
    double deviation;
  };
  struct Column {
    std::string name;
    bool logarithm;
    WrittenDigits digits;
  };
  [[nodiscard]] double scaled(const Number& number, double x) const;

  std::vector<Column> columns_;
  std::vector<Number> numbers_;
};

/// Of a false alarm in one test, of some ten that share a level of 1e-3.
inline constexpr double typical_chance = 1e-4;

/// Of a number over runs.
struct Shape {
  double deviation = 0, skewness = 0, kurtosis = 0;  ///< kurtosis 3 of a normal law
};
Shape shape_of(const Vector<double>& values);

/// S of the file's comment.
class RunCorrelation {
 public:
  /// From runs about their own mean, (numbers x runs), at least 3. Cost O(numbers runs^2).
  static RunCorrelation estimated(const Matrix<double>& runs);
  /// From many runs of a law near that of `runs`, (numbers x runs) both; `runs` and the tail of `likely`
  /// choose lambda for the shift. Cost O(numbers^2 (numbers + runs)).
  static RunCorrelation predicted(const Matrix<double>& likely, const Matrix<double>& runs,
                                  const Vector<double>& shift);

  /// w for a shift d, not zero. Cost O(numbers runs), or O(numbers^2) if predicted.
  [[nodiscard]] Vector<double> weights(const Vector<double>& shift) const;
  /// Uncorrelated sums of the numbers, of equal variance, where S is predicted; else the numbers.
  [[nodiscard]] Matrix<double> uncorrelated(const Matrix<double>& runs) const;
  [[nodiscard]] bool is_predicted() const { return std::holds_alternative<Prediction>(known_); }

 private:
  struct Estimate {
    double shrinkage = 0;   // lambda
    Matrix<double> factor;  // (1 - lambda) C = factor factor'
    Matrix<double> inner;   // (lambda I + factor' factor)^-1
  };
  struct Prediction {
    Matrix<double> axes;  // orthonormal columns
    Vector<double> variances;
  };
  explicit RunCorrelation(std::variant<Estimate, Prediction> known) : known_(std::move(known)) {}
  [[nodiscard]] Vector<double> solved(const Vector<double>& shift) const;  // S^-1 d

  std::variant<Estimate, Prediction> known_;
};

/// How far recorded runs lie from the ensemble, in units of a fault.
struct ScoreTest {
  double size = 0;            ///< of the fault that alone would explain the distance
  double standard_error = 0;  ///< of that size
  double sampling = 0;        ///< variance of what is expected of the mean, that of a run being 1
  double degrees_of_freedom = 0;
  /// |t| of R runs of the ensemble against the others: exceeded in a tenth and in a hundredth of draws.
  double own_tenth = 0, own_hundredth = 0;
  /// The same of t, and of -t: exceeded in a twentieth and in a two-hundredth of draws.
  struct Reached {
    double twentieth = 0, two_hundredth = 0;
  };
  Reached own_above, own_below;
  /// Of the mean of R runs by the predicted law of a run, where that is known: it tells the shape of the
  /// tail, and the ensemble only how wide it is; and the same of the ensemble.
  struct Tail {
    double skewness = 0, excess_kurtosis = 0;
  };
  std::optional<Tail> predicted;
  Tail own;
  /// Of the skewness of the mean of R runs, where the ensemble is of a predicted law: what sampled runs say,
  /// its standard error, and the standard error of what is predicted.
  struct SampledSkewness {
    double value = 0, error = 0, error_of_prediction = 0;
  };
  std::optional<SampledSkewness> sampled;
  [[nodiscard]] double statistic() const { return size / standard_error; }
  /// Of the interval of `size` that misses the truth with probability `level`: 0.05 for 95 %.
  [[nodiscard]] double half_width(double level) const;
  /// What |t| exceeds with this probability: Student's bound, or more where the ensemble's own quantiles
  /// say so, continued by the tail of the predicted law (its quantiles by Cornish and Fisher, Rev. Inst.
  /// Int. Stat. 5 (1938) 307), else by an exponential one.
  [[nodiscard]] double bound(double chance) const;
  /// The same of t or -t, with half of the probability: a skewed law has two bounds. Where sampled runs tell
  /// of a predicted skewness s, the bound is less than Student's on the side of a shorter tail. The tail is
  /// then that of the predicted law or of the ensemble, whichever is longer, with the skewness that Bayes'
  /// rule makes of theirs and of sampled runs', of variance v; a quantile that is known to
  ///   delta^2 = ((z^2 - 1)/6)^2 v,   z the normal one,
  /// is further out by z delta^2/2, so that the chance of a false alarm is kept on average; and the
  /// ensemble's own quantiles on this side widen it. A longer tail that sampled runs show by more than their
  /// error counts where the prediction has none.
  enum class Side { above, below };
  [[nodiscard]] double bound(double chance, Side side) const;
  /// On the side where the statistic is.
  [[nodiscard]] double bound_here(double chance) const;

 private:
  // What sign t exceeds with half of this probability over what it would if normal, with sampled runs.
  [[nodiscard]] double over_normal_with_sampled(double sign, double chance) const;
};

/// A number of every run: of those recorded, of the ensemble, and of many of the predicted law, or null.
struct RunNumbers {
  Vector<double> recorded, ensemble;
  const Vector<double>* likely = nullptr;
  std::optional<double>
      expected;  ///< of the mean, by a rung without noise, in place of the ensemble's
};

/// Cost 20,000 draws of R runs. `error`: of the number, where the ensemble is of a predicted law.
ScoreTest score_test(const RunNumbers& numbers, const PredictionError& error = {});

/// What t of the mean of `runs` runs exceeds with half of this probability, for a number of this skewness
/// and excess kurtosis over runs whose mean and deviation are known. With the skewness of its negative: what
/// -t exceeds.
double bound_of_mean(double skewness, double excess_kurtosis, double runs, double chance);

/// `centre`: what is expected of the mean (of a rung without noise), or null for the ensemble's. `likely`:
/// many runs of the predicted law (numbers x runs), or null. Cost O(numbers runs) and 20,000 draws of R
/// runs. `error`: of the sum, where the ensemble is of a predicted law.
ScoreTest score_test(const Vector<double>& weights, const Matrix<double>& recorded,
                     const Matrix<double>& ensemble, const Vector<double>* centre,
                     const Matrix<double>* likely = nullptr, const PredictionError& error = {});

/// Size, standard error and degrees of freedom of that test only, about the ensemble's mean: what a search
/// for a value needs, without the draws that its bounds take.
ScoreTest score_size(const Vector<double>& weights, const Matrix<double>& recorded,
                     const Matrix<double>& ensemble, const PredictionError& error);

/// Variance of recorded runs against that of the ensemble, over all numbers: the ratio is 1 and of
/// Fisher's F, with degrees of freedom such that the mean square of a run varies as it does over the
/// ensemble (Satterthwaite, Biometrics 2 (1946) 110). Of one recorded run: about the ensemble's mean.
struct ScatterTest {
  double ratio = 1;
  double recorded_freedom = 0, own_freedom = 0;
  double counted =
      0;  ///< that probability as counted over an ensemble (counted_chance), where it was
  /// Probability, under the same law, of a ratio as far from 1 on either side.
  [[nodiscard]] double chance() const;
  /// Of the ratio of variances that the runs are of, two-sided.
  [[nodiscard]] Share interval(double level) const;
  /// The same against sampled runs by way of a predicted law: this is against the prediction, `sampled` is
  /// what they are against it.
  [[nodiscard]] ScatterTest corrected_by(const ScatterTest& sampled) const;
};
ScatterTest scatter_test(const Matrix<double>& recorded, const Matrix<double>& ensemble);
/// The probability of ScatterTest::chance without a law: twice the share of choices of as many runs from the ensemble
/// that scatter as far on the same side. An ensemble of some hundred runs resolves 1e-4. 0 where the ensemble is not four
/// times as large. Cost: 100,000 choices.
double counted_chance(const Matrix<double>& recorded, const Matrix<double>& ensemble);

}  // namespace popgrad
