#pragma once
/// Walks with their rung, and the type of its state, forgotten.
///
/// A state of doubles is walked by AnyRung<double>; one of several precisions has a type of its own.
/// Saved states and checkpoints are vectors of doubles for both, which hold floats exactly.

#include <functional>
#include <string>
#include <vector>

#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {

struct AnyWalk {
  std::vector<std::string> columns;
  std::function<std::vector<std::string>()> state_names;  ///< of a saved state; as long as one
  /// `walk` from the start of the rung, or from a state as `Trajectory::last_state` has it.
  std::function<std::vector<Trajectory<double>>(const Vector<double>* from, const WalkRequest&)>
      runs;
};

/// The rung has to outlive what is made.
AnyWalk any_walk(const AnyRung<double>& rung);

}  // namespace popgrad
