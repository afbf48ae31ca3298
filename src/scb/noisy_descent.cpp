#include "popgrad/scb/noisy_descent.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/error.hpp"
#include "scb/column_kernels.hpp"
#include "scb/gaussian_noise.hpp"

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
  require_unit_mass(expected_.training(), "scb noisy");
}

void NoisyDescent::sample_rhs(const Vector<double>& x, Vector<double>& dx, Stream& stream,
                              Index batch) const {
  const Bigrams<double>& b = expected_.training().bigrams;
  const Index n = b.tokens();
  expected_.rhs(x, dx, 0.0);
  const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
  const Eigen::Map<const Matrix<double>> a(x.data() + n * n, b.context, n);
  const double size = a.colwise().squaredNorm() * b.stationary;
  const NoiseScale scale =
      noise_scale(levels_.shape, batch, size, covariance_product(v, v, b.stationary),
                  transition_size_, context_size_);
  Eigen::Map<Matrix<double>> dv(dx.data(), n, n);
  dv += scale.value * levels_.value * value_noise(b, stream);
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
  const NoiseScale scale =
      noise_scale(levels_.shape, 1, size, covariance_product(v, v, b.stationary), transition_size_,
                  context_size_);
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

Vector<double> NoisyDescent::marks(const Vector<double>& x) const {
  const Bigrams<double>& b = expected_.training().bigrams;
  const Index n = b.tokens();
  Vector<double> found(n * n + 2 * n);
  found.head(n * n) = x.head(n * n);
  for (Index k = 0; k < n; ++k) {
    found[n * n + 2 * k] = x[n * n + k * b.context];
    found[n * n + 2 * k + 1] = x[n * n + (k + 1) * b.context - 1];
  }
  return found;
}

const Vector<double>& NoisyDescent::column_sizes(const Vector<double>& x) const {
  if (marks_.size() > 0 && marks_ == marks(x)) return sizes_;
  const Bigrams<double>& b = expected_.training().bigrams;
  const Index n = b.tokens();
  sizes_.resize(n);
  for (Index k = 0; k < n; ++k) {
    sizes_[k] = column_size(x.data() + n * n + k * b.context, b.context);
  }
  return sizes_;
}

void NoisyDescent::sample_step(Vector<double>& x, double eta, Stream& stream, Index batch) const {
  const Bigrams<double>& b = expected_.training().bigrams;
  const Index n = b.tokens();
  Eigen::Map<Matrix<double>> v(x.data(), n, n);
  double* const columns = x.data() + n * n;
  const double size = column_sizes(x).dot(b.stationary);
  double overlap = 0;
  for (Index k = 0; k < n; ++k) {
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      overlap += b.stationary[k] * b.law[e] *
                 columns[k * b.context + b.position[static_cast<std::size_t>(e)]];
    }
  }
  const double product = covariance_product(v, b.transition, b.stationary);
  const double square = covariance_product(v, v, b.stationary);
  const NoiseScale scale =
      noise_scale(levels_.shape, batch, size, square, transition_size_, context_size_);
  Matrix<double> change = overlap * (b.transition.colwise() - b.stationary) -
                          size * (v.colwise() - Vector<double>(v * b.stationary));
  const double value_level = scale.value * levels_.value;
  if (value_level > 0) change += value_level * value_noise(b, stream);
  v += eta * change;

  const double step = eta * expected_.training().attention_rate;
  const double kept = 1 - step * square;
  const double shift = -step * (product - square) / static_cast<double>(b.context);
  const std::uint32_t groups = Stream::groups(static_cast<std::size_t>(b.context));
  const auto one_column = [&](Index k) {
    double* const a = columns + k * b.context;
    const double level = step * scale.attention * levels_.attention[k];
    Stream own = stream.skip(static_cast<std::uint32_t>(k) * groups);
    // Normals of one piece stay in the first cache.
    constexpr Index piece = 512;
    std::array<double, piece> z{};
    double sum = 0;
    for (Index t = 0; t < b.context; t += piece) {
      const Index count = std::min(piece, b.context - t);
      if (level > 0) own.normals({z.data(), static_cast<std::size_t>(count)});
      sum += advance_column(a + t, z.data(), count, kept, shift, level);
    }
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      a[b.position[static_cast<std::size_t>(e)]] += step * product * b.law[e];
    }
    // Taking the mean off the noise is what keeps the sum at 1.
    sum += step * product;
    sizes_[k] = shift_column(a, b.context, (1 - sum) / static_cast<double>(b.context));
  };
  constexpr Index worth_threads = 100'000;
  if (n * b.context > worth_threads && omp_in_parallel() == 0) {
#pragma omp parallel for schedule(dynamic, 1)
    for (Index k = 0; k < n; ++k) one_column(k);
  } else {
    for (Index k = 0; k < n; ++k) one_column(k);
  }
  marks_ = marks(x);
}

std::string NoisyDescent::divergence(const Vector<double>& x, double step, Index batch) const {
  return expected_.divergence(x, step, batch);
}

}  // namespace popgrad::scb
