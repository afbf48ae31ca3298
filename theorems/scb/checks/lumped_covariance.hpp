#pragma once
/// What a lumped step does to support and mean of the rest, in rationals.

#include "popgrad/scalars/rational.hpp"
#include "theorems/scb/rungs/lumped_descent.hpp"

namespace popgrad::scb::checks {

/// Covariance of the support and the mean m of the rest after one step, in units of s^2, against
/// that of normals less their mean over T positions:
///   support with itself  1 - 1/T
///   m with itself        1/n - 1/T
///   two different ones   -1/T
inline Truth one_step_covariance(bool mean_taken_off) {
  using T = Rational;
  const T positions(50), rest(47);
  // Column j: what the unit draw j does to support and mean; the last draw is rest_sum, N(0, n).
  Matrix<T> effect(4, 4);
  for (Index j = 0; j < 4; ++j) {
    Vector<T> z = Vector<T>::Constant(3, T(0));
    if (j < 3) z[j] = T(1);
    if (mean_taken_off) take_off_mean(z, T(j == 3 ? 1 : 0), positions);
    effect.col(j) << z, -T(z.sum() / rest);
  }
  Vector<T> variance = Vector<T>::Constant(4, T(1));
  variance[3] = rest;
  Vector<T> own = variance;
  own[3] = T(1) / rest;
  const Matrix<T> shared = Matrix<T>::Constant(4, 4, -T(1) / positions);
  const Matrix<T> covariance = effect * variance.asDiagonal() * effect.transpose();
  const Matrix<T> expected = shared + Matrix<T>(own.asDiagonal());
  return covariance == expected ? Truth::yes : Truth::no;
}

}  // namespace popgrad::scb::checks
