#pragma once
/// Formulas of one sample for many at once, and their expectation under finite laws.

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

/// A draw from finitely many values, along a first axis, with their probabilities; draws are independent. An array
/// of indices of data is one with equal probabilities.
struct FiniteDraw {
  Array variable;
  Array values;
  Array probabilities;
};

/// sum over all values of the draws that the formula reads. Exact on rationals. Throws InputError where there are
/// more than `most` combinations.
Array expected(const Array& formula, const std::vector<FiniteDraw>& draws, Index most = 10'000'000);

}  // namespace popgrad::formulas
