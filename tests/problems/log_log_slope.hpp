#pragma once
/// Orders of accuracy: the slope of one logarithm against another.

#include <cmath>
#include <span>
#include <stdexcept>

namespace popgrad {

/// Least-squares slope of ln y against ln x (n >= 2 positive values each).
inline double log_log_slope(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.size() < 2) {
    throw std::invalid_argument("log_log_slope: at least two pairs");
  }
  double sx = 0;
  double sy = 0;
  double sxx = 0;
  double sxy = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = std::log(x[i]);
    const double v = std::log(y[i]);
    sx += u;
    sy += v;
    sxx += u * u;
    sxy += u * v;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace popgrad
