#pragma once
/// Runs of a rung, from a request to their result: flows, walks and the predicted law of walks; their rows,
/// events and regimes, and what is computed from the rows.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/base/record.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/vector.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "runs/correlations.hpp"

namespace popgrad {

/// Fraction done in [0, 1] -> stop?
using Report = std::function<bool(double)>;

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
  /// From the start, or from a state as `Trajectory::last_state` has it; of a prediction one. Interrupted ones
  /// have the rows made so far.
  [[nodiscard]] std::vector<Trajectory<double>> runs(WalkRequest request, const Report& report,
                                                     const Vector<double>* from = nullptr) const;
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

/// A flow or closed form at the times of the request, from the start.
template <class T>
Trajectory<T> trajectory_of_flow(const AnyRung<T>& rung, const RungInfo& info,
                                 SolveRequest<T> request, const Report& report);

template <class T>
struct RunRequest {
  const Model* model = nullptr;
  RungInfo rung;
  Parameters parameters;
  std::uint64_t seed = 1;
  std::optional<WalkRequest> walk = {};  ///< of a rung that takes steps, in double
  SolveRequest<T> solve = {};            ///< of any other
  int digits = 16;                       ///< of T
  std::string optimiser = "plain";       ///< name of that of `walk`
  bool at_rest = false;                  ///< the law that a prediction tends to, in place of steps
  bool spread_to_blow_up = false;        ///< rows end at a blow-up, as no end was asked for
  bool states = false;
  bool events = true;  ///< and regimes
  bool correlations = false;
  std::vector<Trajectory<T>> earlier = {};  ///< interrupted runs to go on from
  std::string earlier_file = {};            ///< that has them, for messages
};

template <class T>
struct RunResult {
  /// How it was run: eta, steps, batch, runs, optimiser; or t1, method, rtol, atol, digits.
  Record settings;
  bool ensemble = false;
  std::vector<std::string> state_names;
  std::vector<Trajectory<T>> runs;
  std::shared_ptr<const Examination> audit;  ///< hypotheses and conclusions, where asked for
  std::optional<PredictedCorrelations> correlations;  ///< of moments, where asked for
  bool curtailed = false;  ///< an interruption left out what is computed from the rows
};

/// Makes the runs of a walk from their start; none where another process has them.
using MakeWalks = std::function<std::vector<Trajectory<double>>(const Walker& walker,
                                                                const WalkRequest& request)>;

/// A flow or closed form as the request asks for it: with regimes among its events, which steps are observed for
/// where a regime of the model reads a column of the rung; from where an earlier part ended; up to a blow-up.
template <class T>
Trajectory<T> flow_of(const RunRequest<T>& request, const AnyRung<T>& rung, const Report& report);

/// Walks from the start, with regimes among their events, which the rows of `watched_steps` are made for.
std::vector<Trajectory<double>> watched_walks(const Model& model, const RungInfo& info,
                                              const Walker& walker, const WalkRequest& request,
                                              const MakeWalks& make);

/// Regimes among the events of descent and SGD, from `step_rows` or else the rows.
void find_regimes_of_walks(std::vector<Trajectory<double>>& runs, const Model& model,
                           const RungInfo& info);

/// In the digits of T. Interrupted runs have the rows made so far. Throws InputError.
RunResult<double> run_rung(const RunRequest<double>& request, const MakeWalks& make,
                           const Report& report);
RunResult<Real> run_rung(const RunRequest<Real>& request, const Report& report);

}  // namespace popgrad
