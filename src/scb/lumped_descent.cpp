#include "popgrad/scb/lumped_descent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>

#include "popgrad/error.hpp"
#include "scb/value_noise.hpp"

namespace popgrad::scb {
namespace {

/// A stream as Boost.Random's distributions want it.
class Bits {
 public:
  using result_type = std::uint64_t;
  explicit Bits(Stream& stream) : stream_(&stream) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return stream_->bits(); }

 private:
  Stream* stream_;
};

double chi_square(double degrees, Stream& stream) {
  if (degrees <= 0) return 0;
  Bits bits(stream);
  return 2 * boost::random::gamma_distribution<double>(degrees / 2, 1.0)(bits);
}

}  // namespace

LumpedDescent::LumpedDescent(Training<double> training, NoiseLevels levels, LumpingMistake mistake)
    : training_(std::move(training)),
      levels_(std::move(levels)),
      mistake_(mistake),
      transition_size_(scb::transition_size(training_.bigrams)),
      context_size_(scb::context_size(training_.bigrams)) {
  if (training_.softmax || !training_.project) {
    reject("scb noisy-lumped", training_.softmax ? "--attention" : "--no-project", "as given",
           "has no Gaussian model; take linear attention, projected, or the rung 'sgd'");
  }
}

Index LumpedDescent::begin_of(Index token) const {
  const Index n = training_.bigrams.tokens();
  return n * n + training_.bigrams.first[static_cast<std::size_t>(token)] + 2 * token;
}

Index LumpedDescent::dimension() const { return begin_of(training_.bigrams.tokens()); }

Vector<double> LumpedDescent::initial() const {
  const Bigrams<double>& b = training_.bigrams;
  Vector<double> x = Vector<double>::Constant(dimension(), 1.0 / static_cast<double>(b.context));
  x.head(b.tokens() * b.tokens()) = training_.start.reshaped();
  for (Index k = 0; k < b.tokens(); ++k) x[begin_of(k) + b.support(k) + 1] = 0;
  return x;
}

std::vector<std::string> LumpedDescent::columns() const {
  return {"alpha_V", "alpha_A",           "dist_P",           "dist_Q", "loss",
          "S_mean",  "dist_P_normalised", "dist_Q_normalised"};
}

std::vector<std::string> LumpedDescent::state_names() const {
  const Bigrams<double>& b = training_.bigrams;
  std::vector<std::string> names;
  for (Index k = 0; k < b.tokens(); ++k) {
    for (Index i = 0; i < b.tokens(); ++i) names.push_back(fmt::format("V_{}_{}", i, k));
  }
  for (Index k = 0; k < b.tokens(); ++k) {
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      names.push_back(fmt::format("a_{}_{}", k, b.position[static_cast<std::size_t>(e)]));
    }
    names.push_back(fmt::format("m_{}", k));
    names.push_back(fmt::format("r_{}", k));
  }
  return names;
}

LumpedDescent::Sums LumpedDescent::sums(const Vector<double>& x) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
  Sums found;
  found.product = covariance_product(v, b.transition, b.stationary);
  found.square = covariance_product(v, v, b.stationary);
  for (Index k = 0; k < n; ++k) {
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const auto own = x.segment(begin, count);
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], count);
    const double m = x[begin + count];
    const double r = x[begin + count + 1];
    found.overlap += b.stationary[k] * own.dot(law);
    found.size += b.stationary[k] *
                  (own.squaredNorm() + static_cast<double>(b.context - count) * m * m + r * r);
  }
  return found;
}

void LumpedDescent::rhs(const Vector<double>& x, Vector<double>& dx, const double& /*t*/) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
  const double share = 1 / static_cast<double>(b.context);
  const Sums now = sums(x);
  Eigen::Map<Matrix<double>> dv(dx.data(), n, n);
  for (Index k = 0; k < n; ++k) {
    dv.col(k) =
        now.overlap * (b.transition.col(k) - b.stationary) - now.size * (v.col(k) - b.stationary);
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const Index first = b.first[static_cast<std::size_t>(k)];
    const double rate = training_.attention_rate;
    for (Index i = 0; i < count; ++i) {
      dx[begin + i] =
          rate * (now.product * (b.law[first + i] - share) - now.square * (x[begin + i] - share));
    }
    dx[begin + count] = rate * (-now.product * share - now.square * (x[begin + count] - share));
    dx[begin + count + 1] = -rate * now.square * x[begin + count + 1];
  }
}

void LumpedDescent::sample_step(Vector<double>& x, double eta, Stream& stream, Index batch) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  const Sums now = sums(x);
  const double share = 1 / static_cast<double>(b.context);
  const double scale = 1 / std::sqrt(static_cast<double>(batch));
  double value_scale = scale * levels_.value;
  double attention_scale = scale;
  if (levels_.shape == NoiseShape::multiplicative) {
    value_scale *= std::sqrt(now.size / context_size_);
    attention_scale *= std::sqrt(now.square / transition_size_);
  }
  Vector<double> slope(x.size());
  rhs(x, slope, 0.0);
  Eigen::Map<Matrix<double>> dv(slope.data(), n, n);
  dv += value_scale * value_noise(b, stream);
  const double kept = 1 - eta * training_.attention_rate * now.square;  // rho
  for (Index k = 0; k < n; ++k) {
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const auto rest = static_cast<double>(b.context - count);
    const double s = eta * attention_scale * levels_.attention[k];
    Vector<double> z(count);
    for (double& value : z) value = stream.normal();
    double mean = z.sum() * share;
    if (rest > 0) mean += std::sqrt(rest) * stream.normal() * share;
    if (mistake_ == LumpingMistake::no_mean_subtraction) mean = 0;
    for (Index i = 0; i < count; ++i) {
      x[begin + i] += eta * slope[begin + i] + s * (z[i] - mean);
    }
    double& m = x[begin + count];
    double& r = x[begin + count + 1];
    m = rest > 0 ? (1 - x.segment(begin, count).sum()) / rest : 0.0;
    if (rest >= 2) {
      const double moved = kept * r + s * stream.normal();
      const double degrees = mistake_ == LumpingMistake::degrees_of_freedom ? rest - 1 : rest - 2;
      r = std::sqrt(moved * moved + s * s * chi_square(degrees, stream));
    }
  }
  x.head(n * n) += eta * slope.head(n * n);
}

void LumpedDescent::observe(const Vector<double>& x, const double& /*t*/,
                            std::span<double> row) const {
  const Bigrams<double>& b = training_.bigrams;
  const Vector<double>& mu = b.stationary;
  const Index n = b.tokens();
  const Eigen::Map<const Matrix<double>> v(x.data(), n, n);
  const double share = 1 / static_cast<double>(b.context);
  const Sums now = sums(x);
  const Vector<double> mean_value = v * mu;
  const Vector<double> mean_next = b.transition * mu;
  double alpha = 0;
  double distance = 0;
  double scaled = 0;
  double mass_mean = 0;
  double loss = 0.5;
  for (Index k = 0; k < n; ++k) {
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const auto own = x.segment(begin, count);
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], count);
    const auto rest = static_cast<double>(b.context - count);
    const double m = x[begin + count];
    const double r = x[begin + count + 1];
    const double mass = own.sum() + rest * m;
    const double size = own.squaredNorm() + rest * m * m + r * r;
    const double overlap = own.dot(law);
    alpha += mu[k] * (overlap - mass * share);
    mass_mean += mu[k] * mass;
    distance += mu[k] * (size - 2 * overlap + law.squaredNorm());
    scaled += mu[k] * (size / (mass * mass) - 2 * overlap / mass + law.squaredNorm());
    loss += mu[k] * (-overlap * now.product - mass * mean_value.dot(mean_next) +
                     (size * now.square + mass * mass * mean_value.squaredNorm()) / 2);
  }
  const Matrix<double> ground = mu * Vector<double>::Ones(n).transpose();
  row[0] = now.product / transition_size_;
  row[1] = alpha / (context_size_ - share);
  row[2] = std::sqrt(stationary_square(Matrix<double>(v - b.transition), mu));
  row[3] = std::sqrt(std::max(0.0, distance));
  row[4] = loss;
  row[5] = mass_mean;
  row[6] = std::sqrt(
      stationary_square(Matrix<double>(ground + (v - ground) * mass_mean - b.transition), mu));
  row[7] = std::sqrt(std::max(0.0, scaled));
}

}  // namespace popgrad::scb
