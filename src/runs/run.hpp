#pragma once
/// One run of a rung, or an ensemble of them, from a request to its result: rows, events, regimes, and what is
/// computed from the rows.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "popgrad/base/record.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/vector.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "runs/correlations.hpp"
#include "runs/produce.hpp"

namespace popgrad {

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

/// Makes the runs of a walk; none where another process has them.
using MakeWalks = std::function<std::vector<Trajectory<double>>(const Walker& walker,
                                                                const WalkRequest& request)>;

/// In the digits of T. Interrupted runs have the rows made so far. Throws InputError.
RunResult<double> run_rung(const RunRequest<double>& request, const MakeWalks& make,
                           const Report& report);
RunResult<Real> run_rung(const RunRequest<Real>& request, const Report& report);

}  // namespace popgrad
