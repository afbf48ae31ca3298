#pragma once
/// Decompositions of dense matrices, compiled once for each scalar in src/scalars/linear_algebra.cpp: Eigen's
/// take a compiler seconds each.

#include <Eigen/Cholesky>

#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// Eigenvalues of a symmetric matrix (n x n), ascending. Cost n^3. For double and Real.
template <class T>
Vector<T> symmetric_eigenvalues(const Matrix<T>& symmetric);

/// Eigenvalues of a symmetric matrix, ascending, and its orthonormal eigenvectors as columns. For
/// double and Real.
template <class T>
struct PrincipalAxes {
  Vector<T> values;
  Matrix<T> vectors;
};
template <class T>
PrincipalAxes<T> principal_axes(const Matrix<T>& symmetric);

/// L with L L' = a covariance (n x n), columns of 0 where it has no rank. Cost n^3/3.
Matrix<double> square_root(const Matrix<double>& covariance);

/// A^{-1} B for a symmetric A (n x n), definite or nearly, by LDL'. Cost n^3. For double, Real and
/// Dual<double>.
template <class T>
Matrix<T> solve_symmetric(const Matrix<T>& a, const Matrix<T>& b);

/// The same for one problem after another, with room of its own: of equal sizes, the first takes all the
/// memory.
template <class T>
class SymmetricSolver {
 public:
  /// Writes A^{-1} B to `x`, which is neither of them.
  void solve(const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& x);

 private:
  Eigen::LDLT<Matrix<T>> parts_;
  Eigen::LLT<Matrix<T>> definite_parts_;
};

/// A^{-1} b by LU with full pivoting. Cost n^3. For double, Real and Rational.
template <class T>
Vector<T> solve_square(const Matrix<T>& a, const Vector<T>& b);

}  // namespace popgrad
