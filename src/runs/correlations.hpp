#pragma once
/// Correlations over runs of sgd, as they are predicted.

#include <string>
#include <vector>

#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/vector.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {

/// Of runs, between all observables at all rows of a prediction.
struct PredictedCorrelations {
  std::vector<std::string> observables;
  std::vector<double> t;  ///< of the rows
  /// Of observable c in row k: number k C + c, C observables. Not a number where one of the two does
  /// not fluctuate.
  Matrix<double> correlation;
};

/// At all rows that `moments` has, by linear_covariance (popgrad/fluctuations/linear_runs.hpp); `sgd` in plain
/// steps. Throws InputError where states or rows are too many.
PredictedCorrelations predicted_correlations(const AnyRung<double>& sgd, const std::string& model,
                                             const WalkRequest& request,
                                             const Trajectory<double>& moments);

}  // namespace popgrad
