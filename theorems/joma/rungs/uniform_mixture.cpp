#include "theorems/joma/rungs/uniform_mixture.hpp"

namespace popgrad::joma {

Vector<double> expected_field(const GaussianMixture& mixture, const Vector<double>& w) {
  const double length = w.norm();
  Vector<double> field = Vector<double>::Zero(w.size());
  for (Index c = 0; c < mixture.centres.cols(); ++c) {
    const double r = w.dot(mixture.centres.col(c)) / length;
    field += mixture.strength[c] * (relu_gate(r, mixture.sigma) * mixture.centres.col(c) +
                                    relu_pull(r, mixture.sigma) / length * w);
  }
  return field;
}

Vector<double> sampled_field(const GaussianMixture& mixture, const Vector<double>& w,
                             Stream& stream) {
  Vector<double> field = Vector<double>::Zero(w.size());
  Vector<double> x(w.size());
  for (Index c = 0; c < mixture.centres.cols(); ++c) {
    for (Index i = 0; i < x.size(); ++i) {
      x[i] = mixture.centres(i, c) + mixture.sigma * stream.normal();
    }
    if (w.dot(x) > 0) field += mixture.strength[c] * x;
  }
  return field;
}

}  // namespace popgrad::joma
