#include "popgrad/scb/noise.hpp"

#include <cmath>

namespace popgrad::scb {

NoiseLevels noise_at_solution(const Bigrams<double>& b) {
  const Index n = b.tokens();
  const Vector<double>& mu = b.stationary;
  Matrix<double> residual = Matrix<double>::Zero(n, n);  // R
  double value = 0;
  for (Index x = 0; x < n; ++x) {
    const auto law = b.transition.col(x);
    residual += mu[x] * (Matrix<double>(law.asDiagonal()) - law * law.transpose());
    const double ratio = 1 / mu[x] - 1;
    value += mu[x] * (1 - law.squaredNorm()) * (ratio * ratio + static_cast<double>(n - 1));
  }
  const Matrix<double> covariance = Matrix<double>(mu.asDiagonal()) - mu * mu.transpose();
  const double pull =
      (b.transition * covariance * b.transition.transpose()).cwiseProduct(residual).sum();
  NoiseLevels levels;
  const auto count = static_cast<double>(n);
  levels.value = std::sqrt(value / ((count - 1) * (count - 2 + count * mu.squaredNorm())));
  levels.attention = (pull / mu.array()).sqrt();
  return levels;
}

}  // namespace popgrad::scb
