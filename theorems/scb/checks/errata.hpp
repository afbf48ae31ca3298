#pragma once
/// Disagreements between the papers and the algebra, in the folder of the statements that show them.

#include "popgrad/evidence/erratum.hpp"

namespace popgrad::scb::checks {

Erratum square_of_jacobian();

}  // namespace popgrad::scb::checks
