#pragma once
/// What a predicted law of runs leaves out, from two of its orders and a few runs of SGD.
///
/// Linear runs to second order (popgrad/fluctuations/linear_runs.hpp) differ from those of first order by what the
/// fluctuations do to the mean, to its Jacobian and to the noise. That is taken as the error of their mean:
/// what comes next is smaller where orders fall, and where they do not, this is large. Deviations are
/// compared with those of sampled runs.

#include <vector>

#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// Runs of a predicted law in place of an ensemble.
struct PredictedRuns {
  std::vector<Trajectory<double>> ensemble;  ///< to second order
  std::vector<Trajectory<double>> second;    ///< the same, of other draws: for weights
  std::vector<Trajectory<double>> first;     ///< to first order, with the first draws of `second`
  std::vector<Trajectory<double>> sampled;   ///< a few of SGD
};

/// Of a bias: above it a prediction is not used. An ensemble of 16 runs knows the mean as well.
inline constexpr double largest_neglected = 0.25;

/// Of one number that runs have, in units of its predicted deviation over runs.
struct PredictionError {
  /// What the second order changes of its mean or its deviation, whichever is more.
  double bias = 0;
  /// Deviation of sampled runs over the predicted one.
  double seen = 1;
  /// What the deviation is over the predicted one, from both, but not less than 1: variances weighted by
  /// the runs that they are worth, those sampled and 1/(2 bias^2), which know a deviation to `bias`.
  double wider = 1;
  /// Distance of the mean of sampled runs, in units of what it is known to.
  double apart = 0;
  /// What sampled runs say that the mean is above the predicted one, in units of the predicted deviation, if
  /// beforehand that is of variance bias^2, and the variance that is left of it.
  double correction = 0, unsure = 0;
  /// Skewness of sampled runs, and its standard error for normal numbers: 0 where there are none.
  double skewness = 0, skewness_error = 0;
  /// Whether the prediction is to be used: the bias is small, and neither mean nor deviation of the
  /// sampled runs say otherwise.
  [[nodiscard]] bool holds() const;
};

/// The bias of each row of (numbers x runs). The first columns of `second` are of the draws of `first`. A row
/// whose predicted deviation is not above `floor` has none; infinite where a number is not finite.
Vector<double> second_order_changes(const Matrix<double>& second, const Matrix<double>& first,
                                    double floor);

/// One number over the runs of PredictedRuns, of which there are two or more each. `second` is for the bias
/// alone: a sum whose weights come from these runs varies less over them.
struct PredictedNumber {
  Vector<double> ensemble, second, first, sampled;
};
PredictionError prediction_error(const PredictedNumber& number);

}  // namespace popgrad
