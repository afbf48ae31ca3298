#include "theorems/scb/rungs/lumped_descent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/draws.hpp"
#include "theorems/scb/rungs/gaussian_noise.hpp"
#include "theorems/scb/rungs/observables.hpp"

namespace popgrad::scb {
LumpedDescent::LumpedDescent(Training<double> training, NoiseLevels levels)
    : training_(std::move(training)),
      levels_(std::move(levels)),
      transition_size_(scb::transition_size(training_.bigrams)),
      context_size_(scb::context_size(training_.bigrams)) {
  if (training_.softmax || !training_.project) {
    reject("scb noisy-lumped", training_.softmax ? "--attention" : "--no-project", "as given",
           "has no Gaussian model; take linear attention, projected, or the rung 'sgd'");
  }
  require_unit_mass(training_, "scb noisy-lumped");
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
  const Matrix<double>& given = training_.attention_start;
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    double& m = x[begin + count];
    double& r = x[begin + count + 1];
    r = 0;
    if (given.size() == 0) continue;
    std::vector<double> rest(given.col(k).begin(), given.col(k).end());
    // From behind, so that positions stay what they are.
    for (Index i = count; i-- > 0;) {
      const Index t =
          b.position[static_cast<std::size_t>(b.first[static_cast<std::size_t>(k)] + i)];
      x[begin + i] = given(t, k);
      rest.erase(rest.begin() + t);
    }
    m = 0;
    if (rest.empty()) continue;
    const Eigen::Map<const Vector<double>> others(rest.data(), std::ssize(rest));
    m = others.mean();
    r = (others.array() - m).matrix().norm();
  }
  return x;
}

std::vector<std::string> LumpedDescent::columns() const { return observable_names(); }

std::vector<std::string> LumpedDescent::state_names() const {
  const Bigrams<double>& b = training_.bigrams;
  std::vector<std::string> names = value_names(b.tokens());
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
  const Vector<double> mean_value = v * b.stationary;
  Eigen::Map<Matrix<double>> dv(dx.data(), n, n);
  for (Index k = 0; k < n; ++k) {
    dv.col(k) =
        now.overlap * (b.transition.col(k) - b.stationary) - now.size * (v.col(k) - mean_value);
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
  const NoiseScale scale =
      noise_scale(levels_.shape, batch, now.size, now.square, transition_size_, context_size_);
  const double value_scale = scale.value * levels_.value;
  Vector<double> slope(dimension());
  rhs(x, slope, 0.0);
  Eigen::Map<Matrix<double>> dv(slope.data(), n, n);
  if (value_scale > 0) dv += value_scale * value_noise(b, stream);
  const double kept = 1 - eta * training_.attention_rate * now.square;  // rho
  for (Index k = 0; k < n; ++k) {
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const auto rest = static_cast<double>(b.context - count);
    const double s = eta * training_.attention_rate * scale.attention * levels_.attention[k];
    Vector<double> z(count);
    for (double& value : z) value = stream.normal();
    const double rest_sum = rest > 0 ? std::sqrt(rest) * stream.normal() : 0.0;
    take_off_mean(z, rest_sum, static_cast<double>(b.context));
    for (Index i = 0; i < count; ++i) {
      x[begin + i] += eta * slope[begin + i] + s * z[i];
    }
    double& m = x[begin + count];
    double& r = x[begin + count + 1];
    m = rest > 0 ? (1 - x.segment(begin, count).sum()) / rest : 0.0;
    if (rest >= 2) {
      const double moved = kept * r + s * stream.normal();
      r = std::sqrt(moved * moved + s * s * chi_square(rest - 2, stream));
    }
  }
  x.head(n * n) += eta * slope.head(n * n);
}

double LumpedDescent::attention_coefficient(const Vector<double>& x) const {
  const double share = 1 / static_cast<double>(training_.bigrams.context);
  return (sums(x).overlap - share) / (context_size_ - share);
}

double LumpedDescent::attention_size(const Vector<double>& x) const { return sums(x).size; }

void LumpedDescent::observe(const Vector<double>& x, const double& /*t*/,
                            std::span<double> row) const {
  const Bigrams<double>& b = training_.bigrams;
  const Eigen::Map<const Matrix<double>> v(x.data(), b.tokens(), b.tokens());
  std::vector<AttentionSums<double>> sums;
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const auto rest = static_cast<double>(b.context - count);
    const double m = x[begin + count];
    const double r = x[begin + count + 1];
    sums.push_back(attention_sums<double>(x.segment(begin, count), law_of(b, k), rest * m,
                                          rest * m * m + r * r));
  }
  write_observables<double>(b, v, sums, transition_size_, context_size_, row);
}

std::string LumpedDescent::divergence(const Vector<double>& x, double step, Index batch) const {
  const Sums now = sums(x);
  const Index n = training_.bigrams.tokens();
  return divergence_of(x.head(n * n).squaredNorm(), now.size, now.square, step,
                       training_.attention_rate, batch);
}

}  // namespace popgrad::scb
