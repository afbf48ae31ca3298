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
/// part to go on from. With `observe_steps` a flow has the rows of its steps as well.
template <class T>
Trajectory<T> produce_flow(const AnyRung<T>& rung, const RungInfo& info, SolveRequest<T> request,
                           bool spread_to_blow_up, const Trajectory<T>* earlier,
                           const Report& report);

/// Regimes of the model among the events of a flow or closed form that ended well, with
/// uncertainties: a second solve at a hundred times the tolerances of the request, about half the
/// cost of the first; a closed form on 1281 times.
template <class T>
void find_regimes_of_flow(Trajectory<T>& run, const AnyRung<T>& rung, const Model& model,
                          const RungInfo& info, SolveRequest<T> request, const Report& report);

/// The same of descent and SGD, from the saved rows.
void find_regimes_of_walks(std::vector<Trajectory<double>>& runs, const Model& model,
                           const RungInfo& info);

/// Descent or SGD; `earlier` holds one partial trajectory a run, or is empty.
std::vector<Trajectory<double>> produce_walks(const AnyRung<double>& rung, WalkRequest request,
                                              const std::vector<Trajectory<double>>& earlier,
                                              const Report& report);

}  // namespace popgrad::cli
