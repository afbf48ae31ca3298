#pragma once
/// What is particular about the rung `moments` in `run`: its law at rest, what `--correlations` needs, and
/// the lines about its limits.

#include <string>

#include "commands/options.hpp"
#include "io/run_record.hpp"

namespace popgrad::cli {

/// Is the law at rest asked for, by `--t1 inf`?
bool asks_for_rest(const CommonOptions& options, const RungInfo& info);

/// Refuses `--correlations` where it does not apply, before anything is computed. Throws InputError.
void check_correlations(const CommonOptions& options, const RungInfo& info);

/// Does the record have predicted means in place of runs?
template <class T>
bool is_predicted(const RunRecord<T>& record) {
  return record.rung == "moments";
}

/// How well deviations are known where the law of one draw is sampled, and from when on the moments of an
/// observable are left out: lines on standard error.
void report_limits(const Trajectory<double>& predicted);

}  // namespace popgrad::cli
