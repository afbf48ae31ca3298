#pragma once
/// The activation phi of a hidden unit, and its slope.

#include <cmath>

#include "popgrad/scalars/scalar.hpp"

namespace popgrad::joma {

enum class Activation { linear, relu, gelu, tanh };

/// tanh(h) = 1 - 2/(e^2h + 1), which neither overflows nor cancels beyond rounding.
template <Transcendental T>
T hyperbolic_tangent(const T& h) {
  using std::exp;
  return T(1) - T(2) / (exp(T(T(2) * h)) + T(1));
}

/// phi(h): h, max(h, 0), h Phi(h) with the standard normal distribution function Phi, or tanh(h).
template <Transcendental T>
T activate(Activation phi, const T& h) {
  switch (phi) {
    case Activation::linear:
      return h;
    case Activation::relu:
      return where_positive(h, h, T(0));
    case Activation::tanh:
      return hyperbolic_tangent(h);
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
    case Activation::tanh: {
      const T value = hyperbolic_tangent(h);
      return (T(1) - value) * (T(1) + value);
    }
    case Activation::gelu:
      break;
  }
  return gaussian_cdf(h) + h * gaussian_pdf(h);
}

}  // namespace popgrad::joma
