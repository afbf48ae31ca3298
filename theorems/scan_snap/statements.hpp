#pragma once
/// The statements on scan and snap, in the order of the paper.

#include "popgrad/statement.hpp"

namespace popgrad::theorems::scan_snap {

Statement gradient();
Statement long_sequence();
Statement decoder_recursion();
Statement decoder_closed_form();
Statement decoder_regimes();
Statement decoder_solution();
Statement class_noise();
Statement draws_until_norm();
Statement overlap_bounds();
Statement backprop_gradient();
Statement fates();
Statement fates_assumption2();
Statement fates_symmetric();
Statement growth();
Statement winner_take_all();
Statement late_growth();
Statement phase_transition();
Statement growth_steps();
Statement rate_dependence();
Statement learning_rates();
Statement residual_gradient();
Statement residual_backprop();
Statement residual_fates();
Statement position_bias();
Statement assumptions();

/// Disagreements between the paper and the algebra, beside the statements that show them.
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

}  // namespace popgrad::theorems::scan_snap
