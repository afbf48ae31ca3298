#pragma once
/// Trajectories of a rung as a request asks for them: flows, walks, and the predicted law of walks.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/base/record.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {

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

/// What takes steps: the runs of a rung, or the predicted law of those of sgd (the rung moments).
struct Walker {
  /// Of a prediction sgd, or with momentum the pair of popgrad/fluctuations/momentum_pair.hpp, whose steps are plain.
  AnyRung<double> rung;
  std::shared_ptr<const Prediction> prediction = nullptr;  ///< null: runs of the rung

  [[nodiscard]] const std::vector<std::string>& columns() const;
  /// Of what Trajectory::states holds.
  [[nodiscard]] const StateNames& state_names() const;
  /// Of such a state; nothing where any number will do.
  [[nodiscard]] std::optional<Index> numbers() const;
  /// From the start, or from a state as `Trajectory::last_state` has it; of a prediction one.
  [[nodiscard]] std::vector<Trajectory<double>> runs(const Vector<double>* from,
                                                     const WalkRequest& request) const;
};

/// That of any rung but moments, or of the law of sgd with steps of the request. Throws InputError.
Walker walker_of(const Model& model, const RungInfo& info, const Parameters& parameters,
                 std::uint64_t seed, const WalkRequest& request);

/// Columns of a rung, moments too.
std::vector<std::string> columns_of(const Model& model, const RungInfo& info,
                                    const Parameters& parameters, std::uint64_t seed);

/// How a run is made, for its record: eta, steps, batch, runs, optimiser.
Record settings_of(const WalkRequest& request, const std::string& optimiser);
/// The same of a flow: t1, method, rtol, atol, digits.
template <class T>
Record settings_of(const SolveRequest<T>& request, int digits);

/// Descent, SGD or moments; `earlier` holds one partial trajectory a run, or is empty.
std::vector<Trajectory<double>> produce_walks(const Walker& walker, WalkRequest request,
                                              const std::vector<Trajectory<double>>& earlier,
                                              const Report& report);

/// The same from the start, with the rows of `watched_steps` beside those asked for.
std::vector<Trajectory<double>> produce_watched_walks(const Walker& walker,
                                                      const WalkRequest& request,
                                                      const Report& report);

/// With events, steps are observed where a regime of the model reads a column of the rung.
template <class T>
void observe_for_regimes(SolveRequest<T>& request, const AnyRung<T>& rung, const Model& model);

/// Regimes among the events of descent and SGD, from `step_rows` or else the rows.
void find_regimes_of_walks(std::vector<Trajectory<double>>& runs, const Model& model,
                           const RungInfo& info);

}  // namespace popgrad
