#pragma once
/// Formulas of one sample for many at once.

#include <string>
#include <vector>

#include "formulas/graph.hpp"

namespace popgrad::formulas {

/// Many values of a variable, along a first axis of the size of the batch.
struct Samples {
  Array variable;
  Array values;
};

/// The formula with that first axis: entry b has the b-th values of all variables. A formula that reads none of them
/// is given back without the axis.
Array over_batch(const Array& formula, const std::vector<Samples>& samples);

}  // namespace popgrad::formulas
