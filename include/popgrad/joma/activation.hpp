#pragma once
/// The activation phi of a hidden unit, and its slope.

#include <cmath>

#include "popgrad/scalar.hpp"

namespace popgrad::joma {

enum class Activation { linear, relu, gelu };

/// phi(h): h, max(h, 0), or h Phi(h) with the standard normal distribution function Phi.
template <Transcendental T>
T activate(Activation phi, const T& h) {
  switch (phi) {
    case Activation::linear:
      return h;
    case Activation::relu:
      return where_positive(h, h, T(0));
    case Activation::gelu:
      break;
  }
  return h * gaussian_cdf(h);
}

/// phi'(h); the slope of ReLU at 0 is taken as 0.
template <Transcendental T>
T activation_slope(Activation phi, const T& h) {
  switch (phi) {
    case Activation::linear:
      return T(1);
    case Activation::relu:
      return where_positive(h, T(1), T(0));
    case Activation::gelu:
      break;
  }
  return gaussian_cdf(h) + h * gaussian_pdf(h);
}

}  // namespace popgrad::joma
