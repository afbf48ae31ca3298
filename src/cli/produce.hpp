#pragma once
/// Turns options into trajectories: the part that `run` and `compare` share.

#include <functional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "io/checkpoint.hpp"

namespace popgrad::cli {

/// Fraction done in [0, 1] -> stop?
using Report = std::function<bool(double)>;

/// A flow or closed form at the times of the request. `earlier`, if not null, is the interrupted
/// part to go on from.
template <class T>
Trajectory<T> produce_flow(const AnyRung<T>& rung, const RungInfo& info, SolveRequest<T> request,
                           bool spread_to_blow_up, const Trajectory<T>* earlier,
                           const Report& report);

/// Descent or SGD; `earlier` holds one partial trajectory a run, or is empty.
std::vector<Trajectory<double>> produce_walks(const AnyRung<double>& rung, WalkRequest request,
                                              const std::vector<Trajectory<double>>& earlier,
                                              const Report& report);

}  // namespace popgrad::cli
