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
#include "popgrad/judging/judgement.hpp"
#include "popgrad/judging/recorded_run.hpp"
#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

struct CrossCheckRequest {
  double false_alarm = 1e-3;  ///< probability that a run of the same law is found to leave the band
  double resolution = 1e-6;   ///< relative precision of the recorded numbers (single precision)
  const PredictedRuns* predicted = nullptr;  ///< where the ensemble is theirs
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
