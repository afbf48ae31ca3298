#pragma once
/// Formulas as polynomials in draws, whose coefficients are formulas without draws, kept whole.

#include <map>
#include <vector>

#include "expectations/term.hpp"

namespace popgrad::expectations {

struct Polynomial {
  Shape shape;
  std::vector<Term> terms;
};

/// Of arrays of one graph. Sums, products, quotients by what has no draws, products of matrices and einsum, powers
/// by whole numbers, sums and means over axes, views, indices and masks without draws.
class NormalForm {
 public:
  /// These variables are draws.
  explicit NormalForm(const std::vector<Array>& draws);
  /// Throws NotHandled.
  const Polynomial& of(const Array& array);
  /// Whether the array depends on a draw.
  [[nodiscard]] bool drawn(const Array& array);

 private:
  Polynomial made(const Array& array);
  Polynomial power_of(const Array& array);
  Polynomial einsum_of(const Array& array);

  std::vector<Array> draws_;
  std::map<std::size_t, bool> drawn_;
  std::map<std::size_t, Polynomial> known_;
};

/// Equal terms once; terms that differ in their coefficients only get the sum of these as one, so that a difference of
/// two products of matrices times a draw stays the difference when it is squared.
Polynomial collected(const Polynomial& form, formulas::Graph& graph);

}  // namespace popgrad::expectations
