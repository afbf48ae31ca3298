#pragma once
/// Terms without draws as array formulas.

#include <vector>

#include "expectations/term.hpp"

namespace popgrad::expectations {

/// The term, of canonical order. Factors that share summed labels are multiplied two at a time, in the order of the
/// fewest products of entries up to 12 factors, then of the cheapest pair first. Throws NotHandled for more than 64
/// labels.
Array contracted(const Term& term, formulas::Graph& graph);

/// The sum of terms of one shape.
Array sum_of(const std::vector<Term>& terms, const Shape& shape, formulas::Graph& graph);

}  // namespace popgrad::expectations
