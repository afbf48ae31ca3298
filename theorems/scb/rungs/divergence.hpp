#pragma once
/// When training of sparse contextual bigrams has diverged, and why.

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

/// Norms beyond this are never come back from: at the solution they are of order one.
inline constexpr double divergence_bound = 1e6;

/// From |V|_F^2, d = sum_k mu_k |a^k|^2 and <V,V>; empty if all are within bounds. A step
/// multiplies V by 1 - eta d and A by 1 - eta eta_A <V,V>, which is unstable beyond 2.
inline std::string divergence_of(double value_square, double size, double square, double step,
                                 double attention_rate, Index batch) {
  const bool finite = std::isfinite(value_square) && std::isfinite(size);
  if (finite && value_square < divergence_bound && size < divergence_bound) return {};
  const double values = step * size;
  const double attention = step * attention_rate * square;
  // Squares of numbers above 1e154 are not finite; what is left of them has no digits.
  const auto number = [](double x) {
    return std::isfinite(x) ? fmt::format("{:.3g}", x) : std::string("beyond 1e308");
  };
  std::string text = fmt::format("|V|^2 = {}, d = sum mu |a|^2 = {}, <V,V> = {}; ",
                                 number(value_square), number(size), number(square));
  if (!std::isfinite(size) || values > attention) {
    text +=
        fmt::format("eta d = {} (stable below 2): the attention, or the noise on it, is too large",
                    number(values));
  } else {
    text += fmt::format("eta eta_A <V,V> = {} (stable below 2): the values overshoot",
                        number(attention));
  }
  return text + (batch > 0 ? "; raise --batch or lower --eta" : "; lower --eta");
}

/// The same while V stays: d does not act on it, and the noise of T positions may add up to any d
/// before a threshold takes it off. Only A can grow, by <V,V>: seen in its mean square.
inline std::string divergence_while_values_stay(double value_square, double size, Index context,
                                                double square, double step, double attention_rate,
                                                Index batch) {
  return divergence_of(value_square, size / static_cast<double>(context), square, step,
                       attention_rate, batch);
}

}  // namespace popgrad::scb
