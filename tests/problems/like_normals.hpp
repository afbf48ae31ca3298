#pragma once
/// Whether many numbers are independent standard normals, by moments, tails and correlations.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace popgrad::problems {

/// At five standard errors each. `farthest`: of the tails |z| > 1, 2, ..., the last that is looked at. Lags
/// are the distances of lanes in memory.
template <class T>
void check_like_normals(const std::vector<T>& z, std::size_t farthest) {
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  std::vector<double> beyond(farthest + 1, 0.0);
  for (const double x : z) {
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
    for (std::size_t s = 1; s <= farthest; ++s) {
      if (std::fabs(x) > static_cast<double>(s)) beyond[s] += 1;
    }
  }
  // Variances of x, x^2, x^3, x^4: 1, 2, 15, 96.
  const auto n = static_cast<double>(z.size());
  CHECK(std::fabs(m1 / n) < 5 * std::sqrt(1 / n));
  CHECK(std::fabs(m2 / n - 1) < 5 * std::sqrt(2 / n));
  CHECK(std::fabs(m3 / n) < 5 * std::sqrt(15 / n));
  CHECK(std::fabs(m4 / n - 3) < 5 * std::sqrt(96 / n));
  for (std::size_t s = 1; s <= farthest; ++s) {
    const double expected = n * std::erfc(static_cast<double>(s) / std::sqrt(2.0));
    CAPTURE(s);
    CHECK(std::fabs(beyond[s] - expected) < 5 * std::sqrt(expected));
  }
  for (const std::size_t lag : {1U, 16U, 32U, 64U}) {
    double product = 0;
    for (std::size_t i = 0; i + lag < z.size(); ++i) product += double{z[i]} * double{z[i + lag]};
    CAPTURE(lag);
    CHECK(std::fabs(product / n) < 5 * std::sqrt(1 / n));
  }
}

}  // namespace popgrad::problems
