#pragma once
/// Laws of motion as formulas again.

#include <string>
#include <vector>

#include "formulas/written.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad::learning {

/// What a law of motion gives for each state.
enum class Motion { rate, next, value };

struct WrittenLaw {
  Motion motion = Motion::rate;
  std::vector<std::string> states;  ///< as written in the text
  std::vector<formulas::Written>
      parts;  ///< that are needed more than once, in an order of computation
  std::vector<formulas::Written> results;  ///< one a state, named d_STATE, next_STATE or STATE
};

/// The law of `flow`, `gd` (both the field) or a rung of its own, where it is derived in the derived form. Throws
/// InputError for other rungs and where the loss is sampled.
WrittenLaw written_law(const SampleLoss& loss, const std::string& rung, const Parameters& given);

}  // namespace popgrad::learning
