#pragma once
/// Symbolic identities: generic symbols, derivatives along a field, and deciding `= 0`.

#include <string>

#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// A fresh real symbol; two calls with the same name give different symbols.
Expression symbol(const std::string& name);
/// NAME_i (n), NAME_i_j (rows x cols).
Vector<Expression> symbols(const std::string& name, Index n);
Matrix<Expression> symbols(const std::string& name, Index rows, Index cols);

/// d f / dt = sum_i (df/dx_i) rate_i, with x_i symbols.
Expression rate_along(const Expression& f, const Vector<Expression>& x,
                      const Vector<Expression>& rate);

/// Is the expression identically 0? Yes if expansion, a common denominator, or both with square
/// roots and exponentials as unknowns make it 0; no if it is nonzero at a point of small rationals;
/// undecided otherwise. Symbols under roots stand for numbers that keep the radicand positive.
Truth vanishes(const Expression& f);
/// The same for every entry: no if any is no, else undecided if any is undecided.
Truth vanishes(const Matrix<Expression>& f);

}  // namespace popgrad
