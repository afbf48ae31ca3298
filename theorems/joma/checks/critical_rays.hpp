#pragma once
/// Rays on which the mean gradient of one ReLU unit on two Gaussian clouds vanishes.
///
/// With w = (cos theta, sin theta) in the plane of the two centres, u and v the terms of centre 1
/// and 2 at a_1 = a_2 = 1,
///   w'(theta) = a_1 u(theta) + a_2 v(theta)
/// vanishes where D = u x v = 0 and a_2/a_1 = -u.v/|v|^2. Off such a value by e, the least
/// |w'|/|a_1| over the rays near it is
///   |e| |D'| / |u' + (a_2/a_1) v'| + O(e^2):
/// the value is isolated where D' is not 0.

#include <vector>

#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::joma::checks {

/// Two clouds of deviation sigma, centres in coordinates of their own plane.
struct PairOfClouds {
  Vector<double> first, second;
  double sigma = 1;
};
/// The first two columns of `centres`, which have to be independent.
PairOfClouds pair_of_clouds(const Matrix<double>& centres, double sigma);

struct CriticalRay {
  double angle = 0;
  double ratio = 0;   ///< a_2/a_1
  double growth = 0;  ///< |D'| / |u' + (a_2/a_1) v'|
};
/// All that a grid of 4000 angles resolves.
std::vector<CriticalRay> critical_rays(const PairOfClouds& clouds);

/// Least |w'|/|e| near a critical ray as e goes to 0, by search over the angle. Part: next order.
Quantity measured_growth(const PairOfClouds& clouds, const CriticalRay& ray);

}  // namespace popgrad::joma::checks
