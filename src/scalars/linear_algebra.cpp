#include "scalars/linear_algebra.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <type_traits>

#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {

template <class T>
Vector<T> symmetric_eigenvalues(const Matrix<T>& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Matrix<T>>(symmetric, Eigen::EigenvaluesOnly).eigenvalues();
}

template <class T>
PrincipalAxes<T> principal_axes(const Matrix<T>& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

Matrix<double> square_root(const Matrix<double>& covariance) {
  const Eigen::LDLT<Matrix<double>> parts(covariance);
  Matrix<double> root = parts.matrixL();
  root = (parts.transpositionsP().transpose() * root).eval();
  // Rounding leaves a semidefinite matrix with tiny negative pivots.
  return root * parts.vectorD().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

template <class T>
void SymmetricSolver<T>::solve(const Matrix<T>& a, const Matrix<T>& b, Matrix<T>& x) {
  if constexpr (std::is_same_v<T, double>) {
    // Eigen works in blocks in LL' alone, which needs a definite matrix.
    if (a.rows() > 128) {
      definite_parts_.compute(a);
      if (definite_parts_.info() == Eigen::Success) {
        x = definite_parts_.solve(b);
        return;
      }
    }
  }
  parts_.compute(a);
  x = parts_.solve(b);
}

template <class T>
Matrix<T> solve_symmetric(const Matrix<T>& a, const Matrix<T>& b) {
  Matrix<T> x;
  SymmetricSolver<T>().solve(a, b, x);
  return x;
}

template <class T>
Vector<T> solve_square(const Matrix<T>& a, const Vector<T>& b) {
  return a.fullPivLu().solve(b);
}

template Vector<double> symmetric_eigenvalues(const Matrix<double>&);
template Vector<Real> symmetric_eigenvalues(const Matrix<Real>&);
template PrincipalAxes<double> principal_axes(const Matrix<double>&);
template PrincipalAxes<Real> principal_axes(const Matrix<Real>&);
template class SymmetricSolver<double>;
template class SymmetricSolver<Real>;
template class SymmetricSolver<Dual<double>>;
template Matrix<double> solve_symmetric(const Matrix<double>&, const Matrix<double>&);
template Matrix<Real> solve_symmetric(const Matrix<Real>&, const Matrix<Real>&);
template Matrix<Dual<double>> solve_symmetric(const Matrix<Dual<double>>&,
                                              const Matrix<Dual<double>>&);
template Vector<double> solve_square(const Matrix<double>&, const Vector<double>&);
template Vector<Real> solve_square(const Matrix<Real>&, const Vector<Real>&);
template Vector<Rational> solve_square(const Matrix<Rational>&, const Vector<Rational>&);

}  // namespace popgrad
