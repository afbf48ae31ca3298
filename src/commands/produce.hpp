#pragma once
/// Turns options into trajectories: the part that `run` and `compare` share.

#include <functional>
#include <string>
#include <vector>

#include "commands/options.hpp"
#include "io/checkpoint.hpp"
#include "popgrad/walks/any_walk.hpp"

namespace popgrad::cli {

/// Fraction done in [0, 1] -> stop?
using Report = std::function<bool(double)>;

/// A flow or closed form at the times of the request. `earlier`, if not null, is the interrupted
/// part to go on from. With `observe_steps` a flow has the rows of its steps as well.
template <class T>
Trajectory<T> produce_flow(const AnyRung<T>& rung, const RungInfo& info, SolveRequest<T> request,
                           bool spread_to_blow_up, const Trajectory<T>* earlier,
                           const Report& report);

/// Regimes of the model among the events of a flow or closed form, as popgrad/walks/watch.hpp looks for
/// them.
template <class T>
void find_regimes_of_flow(Trajectory<T>& run, const AnyRung<T>& rung, const Model& model,
                          const RungInfo& info, const SolveRequest<T>& request,
                          const Report& report);

/// The rung sgd, or where the request is for momentum the pair of popgrad/fluctuations/momentum_pair.hpp.
AnyRung<double> sgd_in_plain_steps(const Model& model, const Parameters& parameters,
                                   std::uint64_t seed, const WalkRequest& request);

/// The rung whose steps are those of the request. That of the model; for moments of steps with
/// momentum that of the state and its last step, whose own steps are plain, as `request` is then.
AnyRung<double> rung_to_step(const Model& model, const RungInfo& info, const Parameters& parameters,
                             std::uint64_t seed, WalkRequest& request);

/// How a run is made, for its record: eta, steps, batch, runs, optimiser.
Record settings_of(const WalkRequest& request, const std::string& optimiser);
/// The same of a flow: t1, method, rtol, atol, digits.
template <class T>
Record settings_of(const SolveRequest<T>& request, int digits);

/// Descent or SGD; `earlier` holds one partial trajectory a run, or is empty.
std::vector<Trajectory<double>> produce_walks(const AnyWalk& walks, WalkRequest request,
                                              const std::vector<Trajectory<double>>& earlier,
                                              const Report& report);
std::vector<Trajectory<double>> produce_walks(const AnyRung<double>& rung, WalkRequest request,
                                              const std::vector<Trajectory<double>>& earlier,
                                              const Report& report);

/// The same from the start, with the rows of `watched_steps` beside those asked for.
std::vector<Trajectory<double>> produce_watched_walks(const AnyRung<double>& rung,
                                                      const WalkRequest& request,
                                                      const Report& report);

/// Regimes among the events of descent and SGD, from `step_rows` or else the rows.
void find_regimes_of_walks(std::vector<Trajectory<double>>& runs, const Model& model,
                           const RungInfo& info);

}  // namespace popgrad::cli
