#pragma once
/// Derivatives of array formulas, as array formulas.

#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::formulas {

/// sum_k <adjoints_k, d outputs_k / d variable>, for each variable, in reverse mode. Slopes of sign, comparisons and
/// argmax are 0, those of relu, abs and norm at 0 too; `where` gives 0 to the branch not taken, also where
/// its slope is infinite or not defined.
std::vector<Array> pull_back(const std::vector<Array>& outputs, const std::vector<Array>& adjoints,
                             const std::vector<Array>& variables);

/// Of a scalar.
std::vector<Array> gradient(const Array& loss, const std::vector<Array>& variables);

/// sum_k d outputs / d variable_k directions_k: forward mode. Of a gradient: the product of the Hessian and a vector.
std::vector<Array> derivative_along(const std::vector<Array>& outputs,
                                    const std::vector<Array>& variables,
                                    const std::vector<Array>& directions);

}  // namespace popgrad::formulas
