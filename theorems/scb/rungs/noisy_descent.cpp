#include "theorems/scb/rungs/noisy_descent.hpp"

#include <cmath>

#include "popgrad/base/error.hpp"

namespace popgrad::scb {

NoisyDescent::NoisyDescent(Training<double> training, NoiseLevels levels)
    : expected_(std::move(training)),
      levels_(std::move(levels)),
      transition_size_(scb::transition_size(expected_.training().bigrams)),
      context_size_(scb::context_size(expected_.training().bigrams)),
      products_(expected_.training().bigrams),
      step_(expected_.training().bigrams) {
  require_gaussian_form(expected_.training(), "scb noisy");
}

void NoisyDescent::sample_rhs(const Vector<double>& x, Vector<double>& dx, Stream& stream,
                              Index batch) const {
  const Bigrams<double>& b = expected_.training().bigrams;
  const Index n = b.tokens();
  expected_.rhs(x, dx, 0.0);
  const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
  const Eigen::Map<const Matrix<double>> a(x.data() + n * n, b.context, n);
  const double size = a.colwise().squaredNorm() * b.stationary;
  const NoiseScale scale = noise_scale(levels_.shape, batch, size, products_.of(v, b).square,
                                       transition_size_, context_size_);
  Eigen::Map<Matrix<double>> dv(dx.data(), n, n);
  noise_.draw(b, stream);
  for (Index k = 0; k < n; ++k) dv.col(k) += scale.value * levels_.value * noise_.column(k);
  for (Index k = 0; k < n; ++k) {
    auto da = dx.segment(n * n + k * b.context, b.context);
    const double level =
        scale.attention * expected_.training().attention_rate * levels_.attention[k];
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

void NoisyDescent::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                   Matrix<double>& images) const {
  const Bigrams<double>& b = expected_.training().bigrams;
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
  const Eigen::Map<const Matrix<double>> a(x.data() + n * n, b.context, n);
  const double size = a.colwise().squaredNorm() * b.stationary;
  const NoiseScale scale = noise_scale(levels_.shape, 1, size, products_.of(v, b).square,
                                       transition_size_, context_size_);
  images = vectors;
  for (Index column = 0; column < images.cols(); ++column) {
    // (I - 11'/N) D (I - 1 mu')(I - mu 1') of V.
    Eigen::Map<Matrix<double>> values(images.col(column).data(), n, n);
    values.rowwise() -= values.colwise().mean().eval();
    values -= values.rowwise().sum().eval() * b.stationary.transpose();
    values.colwise() -= Vector<double>(values * b.stationary);
    values *= std::pow(scale.value * levels_.value, 2);
    for (Index k = 0; k < n; ++k) {
      auto own = images.col(column).segment(n * n + k * b.context, b.context);
      const double mean = own.mean();
      const double level =
          scale.attention * expected_.training().attention_rate * levels_.attention[k];
      own = level * level * (own.array() - mean).matrix();
    }
  }
}

void NoisyDescent::sample_step(Vector<double>& x, double eta, Stream& stream, Index batch) const {
  const Index n = expected_.training().bigrams.tokens();
  step_.take({expected_.training(), levels_, transition_size_, context_size_},
             Eigen::Map<Matrix<double>>(x.data(), n, n), x.data() + n * n, eta, stream, batch);
}

std::string NoisyDescent::divergence(const Vector<double>& x, double step, Index batch) const {
  return expected_.divergence(x, step, batch);
}

}  // namespace popgrad::scb
