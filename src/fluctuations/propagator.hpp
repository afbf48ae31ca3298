#pragma once
/// What equal steps do to a deviation of a state, and to its mean and covariance.

#include <cstdint>

#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// d -> power d + shift, with noise of this covariance:
///   C -> power C power' + noise
struct Propagator {
  Matrix<double> power, noise;
  Vector<double> shift;
};

/// A C A' of a symmetric C: half of the second product, and the other half is the same.
inline Matrix<double> congruent(const Matrix<double>& a, const Matrix<double>& c) {
  Matrix<double> left(a.rows(), c.cols());
  left.noalias() = a * c;
  Matrix<double> made(a.rows(), a.rows());
  made.triangularView<Eigen::Lower>() = left * a.transpose();
  made.triangularView<Eigen::StrictlyUpper>() = made.transpose();
  return made;
}

inline Propagator followed_by(const Propagator& first, const Propagator& then) {
  return {then.power * first.power, congruent(then.power, first.noise) + then.noise,
          then.power * first.shift + then.shift};
}

/// So many steps in one: doubled as often as `count` has binary digits; count > 0. Cost
/// O(n^3 log(count)).
inline Propagator repeated(Propagator step, std::uint64_t count) {
  for (; count % 2 == 0; count /= 2) step = followed_by(step, step);
  Propagator made = step;
  while ((count /= 2) > 0) {
    step = followed_by(step, step);
    if (count % 2 == 1) made = followed_by(made, step);
  }
  return made;
}

}  // namespace popgrad
