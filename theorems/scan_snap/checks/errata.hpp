#pragma once
/// Disagreements between the papers and the algebra, in the folder of the statements that show them.

#include "popgrad/evidence/erratum.hpp"

namespace popgrad::scan_snap::checks {

Erratum phase_transition_constant();
Erratum classes_of_query();
Erratum cross_scale_sign();
Erratum inverse_sign();
Erratum attention_clock();
Erratum late_backprop_regime();
Erratum fates_on_flow();
Erratum centred_sum();
Erratum growth_figure();
Erratum residual_sketch();

}  // namespace popgrad::scan_snap::checks
