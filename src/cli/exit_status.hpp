#pragma once

namespace popgrad::cli {

/// The contract of design: scripts and tests rely on these numbers.
enum ExitStatus : int {
  success = 0,            ///< done, or all statements hold
  violation = 1,          ///< a statement is violated or a control was not refuted
  bad_input = 2,          ///< usage, parameters, files
  undecided = 3,          ///< something inconclusive, nothing violated
  numerical_failure = 4,  ///< underflow, NaN, budget, interruption; what was computed is saved
};

}  // namespace popgrad::cli
