#pragma once
/// What each assumption of a model costs: what `ladder` and `report` share.

#include <filesystem>
#include <string>
#include <vector>

#include "commands/options.hpp"
#include "popgrad/judging/compare.hpp"
#include "presenting/drawing.hpp"
#include "presenting/regime_table.hpp"
#include "runs/run.hpp"

namespace popgrad::cli {

/// Of the means, where a rung is random.
struct ObservableCost {
  Distance distance;
  double scale = 0;           ///< largest absolute value on either rung, > 0
  double spread = 0;          ///< of one run of the finer rung, at most
  double standard_error = 0;  ///< of the distance, at most; 0 where neither is random

  [[nodiscard]] double relative() const { return distance.largest / scale; }
};

struct LadderCost {
  LadderStep step;
  Record parameters;  ///< of both rungs
  double end = 0;
  std::vector<ObservableCost> observables;  ///< those that both rungs have
  std::vector<RungRegimes> regimes;         ///< of both rungs
  std::string failure;                      ///< why the step cannot be made on this instance
  bool refused = false;                     ///< the failure is the input's, not of numbers
};

/// All steps of the model's ladder, each to its own end unless the options give one.
std::vector<LadderCost> ladder_costs(const CommonOptions& common, const Model& model,
                                     const Report& report);
std::string ladder_table(const std::vector<LadderCost>& costs);
/// `common`: as typed, for the caption.
Drawing ladder_drawing(const std::vector<LadderCost>& costs, const Model& model,
                       const CommonOptions& common, const std::filesystem::path& folder,
                       const std::string& command);

}  // namespace popgrad::cli
