#pragma once
/// Statements that a theory has unasked: its own rungs are reductions, its closed forms solve their flows, its invariants
/// stay.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/learning/sample_loss.hpp"

namespace popgrad::theory_files {

/// NAME.residual-RUNG, NAME.closed-RUNG and NAME.invariant-X for all that can be examined and is not approximate. Their
/// controls are mistakes made by program in the law, but for those that change nothing at the points. Cost: that of
/// the residuals at the given sizes, with all controls. Throws InputError.
std::vector<Statement> residual_statements(const SampleLoss& loss);

}  // namespace popgrad::theory_files
