#pragma once
/// Formulas as polynomials in draws and functions of what is affine in draws, whose coefficients are formulas without draws, kept whole.

#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "expectations/term.hpp"

namespace popgrad::expectations {

struct Polynomial {
  Shape shape;
  std::vector<Term> terms;
};

/// What is affine in draws.
struct Affine {
  struct Part {
    std::size_t draw = 0;  ///< place of the variable
    Term coefficient{};    ///< axes of the array, then those of the variable
  };
  std::vector<Part> parts;
  std::vector<Term> offset;
};

/// Of arrays of one graph. Sums, products, quotients by what has no draws, products of matrices and einsum, powers
/// by whole numbers, sums and means over axes, views, indices and masks without draws; of what is affine in draws
/// comparisons, the functions of term.hpp and those made of them, softmax of two entries among them.
class NormalForm {
 public:
  /// These variables are draws. Only with functions there are terms with factors of that kind. Most factors of all terms
  /// that are multiplied on the way: each takes some 20 microseconds.
  explicit NormalForm(const std::vector<Array>& draws, bool of_functions = false,
                      double most_factors = std::numeric_limits<double>::infinity());
  /// Throws NotHandled.
  const Polynomial& of(const Array& array);
  /// Whether the array depends on a draw.
  [[nodiscard]] bool drawn(const Array& array);
  /// Null where the array is not affine in draws. Throws NotHandled.
  const Affine* affine(const Array& array);

 private:
  Polynomial made(const Array& array);
  Polynomial product(const Polynomial& a, const Polynomial& b, const Shape& shape);
  // That their product is not too long; counts its factors.
  void count_factors(const Polynomial& a, const Polynomial& b);
  Polynomial power_of(const Array& array);
  Polynomial einsum_of(const Array& array);
  Polynomial entries_of(Function function, const Array& argument);
  std::optional<Polynomial> over_sign(Function function, const Array& argument);
  Polynomial exponential_of(const Array& array);
  std::optional<Polynomial> of_two(const Array& array);
  std::optional<Polynomial> function_of(const Array& array);
  Polynomial chosen_by_draws(const Array& array);

  std::vector<Array> draws_;
  bool of_functions_;
  double factors_ = 0, most_factors_;
  std::map<std::size_t, bool> drawn_;
  std::map<std::size_t, Polynomial> known_;
  std::map<std::size_t, std::optional<Affine>> affine_;
};

/// Equal terms once; terms that differ in their coefficients only get the sum of these as one, so that a difference of
/// two products of matrices times a draw stays the difference when it is squared.
Polynomial collected(const Polynomial& form, formulas::Graph& graph);

}  // namespace popgrad::expectations
