#include "popgrad/scb/noisy_descent.hpp"

#include <cmath>

#include "popgrad/error.hpp"
#include "scb/value_noise.hpp"

namespace popgrad::scb {

NoisyDescent::NoisyDescent(Training<double> training, NoiseLevels levels)
    : expected_(std::move(training)),
      levels_(std::move(levels)),
      transition_size_(scb::transition_size(expected_.training().bigrams)),
      context_size_(scb::context_size(expected_.training().bigrams)) {
  if (expected_.training().softmax || !expected_.training().project) {
    reject("scb noisy", expected_.training().softmax ? "--attention" : "--no-project", "as given",
           "has no Gaussian model; take linear attention, projected, or the rung 'sgd'");
  }
}

void NoisyDescent::sample_rhs(const Vector<double>& x, Vector<double>& dx, Stream& stream,
                              Index batch) const {
  const Bigrams<double>& b = expected_.training().bigrams;
  const Index n = b.tokens();
  expected_.rhs(x, dx, 0.0);
  double value_scale = 1;
  double attention_scale = 1;
  if (levels_.shape == NoiseShape::multiplicative) {
    const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
    const Eigen::Map<const Matrix<double>> a(x.data() + n * n, b.context, n);
    const double size = a.colwise().squaredNorm() * b.stationary;
    value_scale = std::sqrt(size / context_size_);
    attention_scale = std::sqrt(covariance_product(v, v, b.stationary) / transition_size_);
  }
  const double share = 1 / std::sqrt(static_cast<double>(batch));
  Eigen::Map<Matrix<double>> dv(dx.data(), n, n);
  dv += share * value_scale * levels_.value * value_noise(b, stream);
  for (Index k = 0; k < n; ++k) {
    auto da = dx.segment(n * n + k * b.context, b.context);
    const double level = share * attention_scale * levels_.attention[k];
    // The mean is taken off in a second pass, so that the normals need no room of their own.
    double sum = 0;
    for (double& rate : da) {
      const double z = stream.normal();
      sum += z;
      rate += level * z;
    }
    da.array() -= level * sum / static_cast<double>(b.context);
  }
}

}  // namespace popgrad::scb
