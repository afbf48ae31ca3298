#pragma once
/// The statements on JoMA, in the order of the paper.

#include "popgrad/statement.hpp"

namespace popgrad::theorems::joma {

Statement invariant_linear();
Statement invariant_exp();
Statement invariant_softmax();
Statement linear_growth();
Statement nonlinear_uniform();
Statement salient_first();
Statement entropy_bounce();
Statement stable_rank();
Statement tree_cooccurrence();
Statement tree_learning();
Statement clock_change();
Statement attended_target();
Statement ode_limit();
Statement measured_bounce();
Statement latent_labels();
Statement latent_scores();
Statement frozen_layers();
Statement logits_ahead();
Statement softmax_growth();
Statement level_order();
Statement tree_order();

/// Disagreements between the paper and the algebra, beside the statements that show them.
Erratum summed_condition();
Erratum logits_too_large();
Erratum target_at_rest();
Erratum clock_of_figure();
Erratum sets_for_tree();

}  // namespace popgrad::theorems::joma
