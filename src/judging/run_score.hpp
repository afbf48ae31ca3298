#pragma once
/// The score of a fault: reduces a recorded run to one number that is sensitive to the fault.
///
/// With m and C mean and covariance of what was logged of a run, y, and d and D what a unit of the fault
/// adds to them, the derivative of the logarithm of a normal density along the fault is, up to a constant,
///   d'S^-1 (y - m) + 1/2 (y - m)'S^-1 D S^-1 (y - m),   S = C + lambda tr(C)/n I
/// with S = C (Rao, Proc. Camb. Phil. Soc. 44 (1948) 50): of all numbers made of a run it finds small
/// faults best. The first term is the weighted sum of score_test.hpp; the second sees faults that change
/// how runs fluctuate more than where they are, as a batch does, or a query at another place. Divided by
/// what the fault makes of its mean, it moves by 1 for a unit of the fault. lambda keeps directions in which
/// runs hardly fluctuate, and of which a prediction is least sure, from counting most. Whatever m, C, d and
/// D, it is a function of one run: a test of it keeps its level (score_test, prediction_error).

#include <optional>

#include "popgrad/scalars/vector.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad {

/// What of D a score is made of: nothing; the multiple of C that is nearest to it; all.
enum class ScoreKind { means, stretch, laws };

class RunScore {
 public:
  /// w'y alone.
  static RunScore of_means(Vector<double> weights);
  /// w'(y - m) + 1/2 (y - m)'A(y - m).
  static RunScore of_laws(Vector<double> weights, Vector<double> center, Matrix<double> form);

  /// Of every run (numbers x runs). Cost O(numbers runs), of laws O(numbers^2 runs).
  [[nodiscard]] Vector<double> of(const Matrix<double>& runs) const;
  [[nodiscard]] bool is_of_laws() const { return form_.size() > 0; }

 private:
  Vector<double> weights_, center_;
  Matrix<double> form_;
};

/// C and m of the file's comment, from many runs of a predicted law.
class LikelyRuns {
 public:
  /// (numbers x runs). Cost O(numbers^2 (numbers + runs)).
  explicit LikelyRuns(const Matrix<double>& runs);

  [[nodiscard]] const Vector<double>& mean() const { return mean_; }
  [[nodiscard]] const PrincipalAxes<double>& axes() const { return axes_; }
  /// About the mean, along the axes.
  [[nodiscard]] Matrix<double> along(const Matrix<double>& runs) const;

 private:
  Vector<double> mean_;
  PrincipalAxes<double> axes_;
};

/// d and D of one fault, from half of some runs with it and without of the same draws; the others give the unit.
class FaultShift {
 public:
  /// (numbers x runs) both, of `change` units of the fault. `likely` has to live on. Cost O(numbers^2 runs)
  /// with `of_laws`, which D is for.
  FaultShift(const LikelyRuns& likely, const Matrix<double>& without, const Matrix<double>& with,
             double change, bool of_laws);

  /// With D if it was asked for; nothing where the fault moves the score backwards, or not at all. Squares
  /// have rarer and larger outliers than sums, so that they may have a larger lambda, which is `of_squares`.
  /// Cost O(numbers^2), with D O(numbers^3). Throws std::logic_error for D that was not asked for.
  [[nodiscard]] std::optional<RunScore> score(double lambda, ScoreKind kind,
                                              std::optional<double> of_squares = {}) const;

 private:
  const LikelyRuns& likely_;
  double change_;
  // Of mean and second moments by the change, along the axes, over the first half of the runs; the other half
  // says how far the score moves, which those that it is made of flatter.
  Vector<double> shift_, shift_of_others_;
  Matrix<double> spread_, spread_of_others_;
};

}  // namespace popgrad
