#include "fluctuations/moments.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/rung.hpp"
#include "scalars/linear_algebra.hpp"

#include <cmath>

namespace popgrad {
namespace {

// 1/2 sum_ij C_ij d^2 f / dx_i dx_j, as a sum of second differences along the principal axes of C.
Vector<double> curvature_drift(const AnyRung<double>& rung, const Vector<double>& mean,
                               const Vector<double>& field, const Matrix<double>& covariance) {
  Vector<double> drift = Vector<double>::Zero(mean.size());
  const PrincipalAxes axes = principal_axes(covariance);
  Vector<double> ahead(mean.size());
  Vector<double> behind(mean.size());
  for (Index k = 0; k < mean.size(); ++k) {
    const double variance = axes.values[k];
    if (!(variance > 0)) continue;
    // Error of a second difference: h^2 f''''/12 + 4 eps f/h^2, least near h = eps^(1/4) = 1e-4.
    constexpr double h = 1e-3;
    const Vector<double> shift = h * axes.vectors.col(k);
    rung.rhs(mean + shift, ahead, 0.0);
    rung.rhs(mean - shift, behind, 0.0);
    drift += 0.5 * variance / (h * h) * (ahead + behind - 2 * field);
  }
  return drift;
}

}  // namespace

std::vector<Moments> predict_moments(const AnyRung<double>& rung, const Vector<double>& initial,
                                     double step_size, Index batch,
                                     const std::vector<std::uint64_t>& steps,
                                     const DrawCovariance& draw_covariance) {
  const Index n = initial.size();
  Moments now{initial, Matrix<double>::Zero(n, n)};
  std::vector<Moments> found;
  Vector<double> field(n);
  Matrix<double> jacobian(n, n);
  const double noise = step_size * step_size / static_cast<double>(batch);
  std::uint64_t step = 0;
  for (const std::uint64_t target : steps) {
    for (; step < target; ++step) {
      throw_if_stopped();
      rung.rhs(now.mean, field, 0.0);
      rung.jacobian(now.mean, jacobian, 0.0);
      const Vector<double> drift = curvature_drift(rung, now.mean, field, now.covariance);
      const Matrix<double> spread = noise * draw_covariance(now.mean);
      const Matrix<double> stretch = Matrix<double>::Identity(n, n) + step_size * jacobian;
      now.covariance = stretch * now.covariance * stretch.transpose() + spread;
      now.mean += step_size * (field + drift);
    }
    found.push_back(now);
  }
  return found;
}

}  // namespace popgrad
