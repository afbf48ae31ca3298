#include "runs/correlations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/linear_runs.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {
namespace {

constexpr std::size_t most_correlated = 2000;  // 100 MB of JSON

}  // namespace

PredictedCorrelations predicted_correlations(const AnyRung<double>& sgd, const std::string& model,
                                             const WalkRequest& request,
                                             const Trajectory<double>& moments) {
  const std::string where = fmt::format("{} moments: --correlations: ", model);
  if (!sgd.draws.covariance || sgd.dimension > largest_full_covariance) {
    throw InputError(fmt::format(
        "{}the state has {} numbers, and its covariance is followed up to {}; give a smaller "
        "instance, or take an ensemble: the rung sgd with --runs 200",
        where, sgd.dimension, largest_full_covariance));
  }
  const std::size_t numbers = request.save_steps.size() * sgd.observables.columns.size();
  if (numbers > most_correlated) {
    throw InputError(
        fmt::format("{}{} rows of {} observables are more than {} numbers; give --save "
                    "{} or fewer",
                    where, request.save_steps.size(), sgd.observables.columns.size(),
                    most_correlated, most_correlated / sgd.observables.columns.size()));
  }
  LinearRunsRequest asked{request.step_size,  static_cast<double>(request.batch),
                          request.save_steps, 0,
                          request.seed,       LinearOrder::second};
  const LinearCovariance found = linear_covariance(sgd, asked);
  Vector<double> deviations = found.covariance.diagonal().cwiseMax(0.0).cwiseSqrt();
  for (Index i = 0; i < deviations.size(); ++i) {
    // Of what is conserved there is rounding alone.
    const auto columns = std::ssize(sgd.observables.columns);
    const double mean =
        moments.rows[static_cast<std::size_t>(i / columns)][static_cast<std::size_t>(i % columns)];
    constexpr double rounding = 1e-9;
    if (!(deviations[i] > rounding * (std::fabs(mean) + 1e-3))) deviations[i] = 0;
  }
  PredictedCorrelations made{sgd.observables.columns, found.t, found.covariance};
  for (Index i = 0; i < deviations.size(); ++i) {
    for (Index j = 0; j < deviations.size(); ++j) {
      const double both = deviations[i] * deviations[j];
      made.correlation(i, j) = both > 0 ? std::clamp(found.covariance(i, j) / both, -1.0, 1.0)
                                        : std::numeric_limits<double>::quiet_NaN();
    }
  }
  return made;
}

}  // namespace popgrad
