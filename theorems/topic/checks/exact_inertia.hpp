#pragma once
/// Signs of the eigenvalues of a symmetric matrix of fractions, by Sylvester's law: no rounding.

#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::topic::checks {

struct SignCount {
  Index positive = 0, zero = 0, negative = 0;
};

/// Congruence transforms to diagonal form with 1 x 1 pivots, and 2 x 2 ones where the diagonal is
/// 0. Cost O(n^3) fractions.
SignCount exact_inertia(Matrix<Rational> symmetric);

/// Is it positive semidefinite of this rank?
Truth semidefinite_of_rank(const SignCount& signs, Index rank);

}  // namespace popgrad::topic::checks
