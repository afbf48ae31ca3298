#pragma once
/// What is particular about the rung `moments` in `run`: its law at rest, correlations, and what is said of it.

#include <string>

#include "commands/options.hpp"
#include "io/run_record.hpp"
#include "runs/produce.hpp"

namespace popgrad::cli {

/// Is the law at rest asked for, by `--t1 inf`?
bool asks_for_rest(const CommonOptions& options, const RungInfo& info);

/// Refuses `--correlations` where it does not apply, before anything is computed. Throws InputError.
void check_correlations(const CommonOptions& options, const RungInfo& info);

/// `--correlations`: over runs between all observables at all rows that `moments` has, by linear_covariance
/// (popgrad/fluctuations/linear_runs.hpp); not a number for what does not fluctuate. `sgd` in plain steps. Throws
/// InputError where states or rows are too many.
PredictedCorrelations predicted_correlations(const AnyRung<double>& sgd, const std::string& model,
                                             const WalkRequest& request,
                                             const Trajectory<double>& moments);

/// Does the record have predicted means in place of runs?
template <class T>
bool is_predicted(const RunRecord<T>& record) {
  return record.rung == "moments";
}

/// How well deviations are known where the law of one draw is sampled, and from when on the moments of an
/// observable are left out: lines on standard error.
void report_limits(const Trajectory<double>& predicted);

}  // namespace popgrad::cli
