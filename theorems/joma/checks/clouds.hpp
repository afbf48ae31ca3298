#pragma once
/// A unit on a mixture of clouds, drawn by knobs and sampled: joma.nonlinear-uniform.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/uniform_mixture.hpp"

namespace popgrad::joma::checks {

/// One unit on x_c = xbar_c + sigma A n, gradients a_c (1 + e.n), n standard normal; the theorem is
/// about A = 1 and e = 0.
struct CloudUnit {
  GaussianMixture mixture;
  Vector<double> w;
  Matrix<double> axes;
  Vector<double> slope;
};
std::vector<Knob> knobs_of_clouds();
/// By those knobs and the seed.
CloudUnit drawn_unit(const Setting& setting);

/// Means of w' over draws of all x_c, 64 draws to a row, whose law is then close to normal. Part:
/// sampling.
std::vector<Quantity> sampled_mean(const CloudUnit& unit, const Setting& setting);

}  // namespace popgrad::joma::checks
