#pragma once
/// Drawn Mu with one token a unit: joma.stable-rank.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::checks {

std::vector<Knob> knobs_of_token_a_unit();

/// Mu diagonal, of sizes between the weakest and the dominant token, which both occur; V(0) = 0.
/// Knobs of broken hypotheses turn the rows of Mu, whose sizes stay, and move V(0).
ReducedInstance<double> token_a_unit(const Setting& setting);

}  // namespace popgrad::joma::checks
