#pragma once
/// An example that two figures share.

#include <array>

#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::figures {

/// mu = 1.2 .. 3.8, v(0) = 0.05, tau = 3, nonlinear phi, one unit.
inline ReducedInstance<double> ten_tokens() {
  constexpr std::array mu{1.2, 1.5, 1.8, 2.0, 2.3, 2.6, 2.9, 3.2, 3.5, 3.8};
  ReducedInstance<double> instance;
  instance.target = Eigen::Map<const Vector<double>>(mu.data(), std::ssize(mu));
  instance.nonlinear = true;
  instance.start = Matrix<double>::Constant(std::ssize(mu), 1, 0.05);
  instance.logits = Vector<double>::Zero(std::ssize(mu));
  instance.tau = 3;
  return instance;
}

}  // namespace popgrad::joma::figures
