#include "theorems/joma/checks/critical_rays.hpp"

#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/uniform_mixture.hpp"

namespace popgrad::joma::checks {
namespace {

double cross(const Vector<double>& a, const Vector<double>& b) { return a[0] * b[1] - a[1] * b[0]; }

// th1 xbar + th2 w at the angle, and its derivative. With p the density of the noise
//   d th1/dr = p(r), d th2/dr = -r p(r), r = w.xbar.
struct Term {
  Vector<double> value;
  Vector<double> slope;
};
Term term_of(const Vector<double>& centre, double sigma, double angle) {
  const Vector<double> w{{std::cos(angle), std::sin(angle)}};
  const Vector<double> turned{{-w[1], w[0]}};
  const double r = w.dot(centre);
  const double pull = relu_pull(r, sigma);
  const double change = gaussian_pdf(r / sigma) / sigma * turned.dot(centre);
  return {relu_gate(r, sigma) * centre + pull * w, change * (centre - r * w) + pull * turned};
}

double determinant(const PairOfClouds& clouds, double angle) {
  return cross(term_of(clouds.first, clouds.sigma, angle).value,
               term_of(clouds.second, clouds.sigma, angle).value);
}

CriticalRay ray_at(const PairOfClouds& clouds, double angle) {
  const Term u = term_of(clouds.first, clouds.sigma, angle);
  const Term v = term_of(clouds.second, clouds.sigma, angle);
  const double ratio = -u.value.dot(v.value) / v.value.squaredNorm();
  const double slope = cross(u.slope, v.value) + cross(u.value, v.slope);
  return {angle, ratio, std::fabs(slope) / (u.slope + ratio * v.slope).norm()};
}

}  // namespace

PairOfClouds pair_of_clouds(const Matrix<double>& centres, double sigma) {
  const Vector<double> axis = centres.col(0).normalized();
  const double along = centres.col(1).dot(axis);
  return {Vector<double>{{centres.col(0).norm(), 0.0}},
          Vector<double>{{along, (centres.col(1) - along * axis).norm()}}, sigma};
}

std::vector<CriticalRay> critical_rays(const PairOfClouds& clouds) {
  std::vector<CriticalRay> rays;
  constexpr int grid = 4000;
  for (int k = 0; k < grid; ++k) {
    double low = 2 * M_PI * k / grid;
    double high = 2 * M_PI * (k + 1) / grid;
    const bool rises = determinant(clouds, low) < 0;
    if (rises == (determinant(clouds, high) < 0)) continue;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      ((determinant(clouds, middle) < 0) == rises ? low : high) = middle;
    }
    rays.push_back(ray_at(clouds, low));
  }
  return rays;
}

Quantity measured_growth(const PairOfClouds& clouds, const CriticalRay& ray) {
  const auto least = [&](double off) -> Quantity {
    const auto size = [&](double angle) {
      return (term_of(clouds.first, clouds.sigma, angle).value +
              (ray.ratio + off) * term_of(clouds.second, clouds.sigma, angle).value)
          .norm();
    };
    // |w'| is that of a line that passes by the origin: one minimum beside the ray.
    double low = ray.angle - 0.1;
    double high = ray.angle + 0.1;
    for (int i = 0; i < 100; ++i) {
      const double third = (high - low) / 3;
      if (size(low + third) < size(high - third)) {
        high -= third;
      } else {
        low += third;
      }
    }
    // Two vectors cancel.
    const double terms = 2 * term_of(clouds.first, clouds.sigma, ray.angle).value.norm();
    return {size((low + high) / 2) / off, {ErrorPart::rounding(4, terms / off)}};
  };
  const double off = 1e-3 * std::fabs(ray.ratio);
  return limit_of(least, off, 2, 2);
}

}  // namespace popgrad::joma::checks
