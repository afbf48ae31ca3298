#pragma once
/// Derived formulas in a short form, for print.

#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::formulas {

/// The same formulas with numbers collected, equal terms added, products with the identity and with diagonal matrices
/// carried out, and contractions as products where they are. Equal to the formulas wherever these have a value; sqrt(x)**2
/// becomes x. `symmetric`: variables that are symmetric matrices. Cost: that of a few passes over the graph.
std::vector<Array> simplified(const std::vector<Array>& formulas,
                              const std::vector<Array>& symmetric = {});

}  // namespace popgrad::formulas
