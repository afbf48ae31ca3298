#pragma once
/// The statements on sparse contextual bigrams, in the order of the paper.

#include "popgrad/statement.hpp"

namespace popgrad::theorems::scb {

Statement gradient();
Statement reduction();
Statement linearisation();
Statement fixed_points();
Statement convergence();
Statement two_stages();
Statement transfer();
Statement transfer_growth();
Statement transfer_range();
Statement scratch_range();
Statement branch();
Statement l1_needed();
Statement small_batch();
Statement vocabulary_size();
Statement hyperbola();
Statement softmax_link();
Statement softmax_patterns();
Statement softmax_stage();
Statement softmax_scratch();
Statement starts();
Statement perturbed_start();
Statement lumping();
Statement ode_limit();

Erratum square_of_jacobian();

}  // namespace popgrad::theorems::scb
