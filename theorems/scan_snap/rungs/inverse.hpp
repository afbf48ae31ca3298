#pragma once
/// (I + E)^{-1} for any scalar.

#include <type_traits>

#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad::scan_snap {

/// G (K x K) from F'F, positive definite. Cost K^3; symbols by elimination.
template <class T>
Matrix<T> inverse_of_gram(const Matrix<T>& gram) {
  const Index k = gram.rows();
  if constexpr (std::is_same_v<T, Expression>) {
    GiNaC::matrix table(static_cast<unsigned>(k), static_cast<unsigned>(k));
    for (Index i = 0; i < k; ++i) {
      for (Index j = 0; j < k; ++j) {
        table(static_cast<unsigned>(i), static_cast<unsigned>(j)) = gram(i, j);
      }
    }
    const GiNaC::matrix inverse = table.inverse();
    Matrix<T> result(k, k);
    for (Index i = 0; i < k; ++i) {
      for (Index j = 0; j < k; ++j) {
        result(i, j) = inverse(static_cast<unsigned>(i), static_cast<unsigned>(j));
      }
    }
    return result;
  } else {
    return solve_symmetric<T>(gram, Matrix<T>::Identity(k, k));
  }
}

/// The same at one state after another, with room of its own.
template <class T>
class GramInverse {
 public:
  /// G; it stays until the next call.
  const Matrix<T>& of(const Matrix<T>& gram) {
    if constexpr (std::is_same_v<T, Expression>) {
      inverse_ = inverse_of_gram<T>(gram);
    } else {
      if (identity_.rows() != gram.rows()) identity_.setIdentity(gram.rows(), gram.rows());
      solver_.solve(gram, identity_, inverse_);
    }
    return inverse_;
  }

 private:
  struct None {};
  std::conditional_t<std::is_same_v<T, Expression>, None, SymmetricSolver<T>> solver_;
  Matrix<T> identity_, inverse_;
};

}  // namespace popgrad::scan_snap
