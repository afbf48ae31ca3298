#pragma once
/// Disagreements between the papers and the algebra, in the folder of the statements that show them.

#include "popgrad/evidence/erratum.hpp"

namespace popgrad::joma::checks {

Erratum summed_condition();
Erratum logits_too_large();
Erratum target_at_rest();
Erratum clock_of_figure();

}  // namespace popgrad::joma::checks
