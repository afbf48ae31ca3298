#include "theorems/scb/rungs/lumped_descent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "theorems/scb/rungs/divergence.hpp"
#include "theorems/scb/rungs/draws.hpp"
#include "theorems/scb/rungs/observables.hpp"

namespace popgrad::scb {
LumpedDescent::LumpedDescent(Training<double> training, NoiseLevels levels)
    : training_(std::move(training)),
      levels_(std::move(levels)),
      transition_size_(scb::transition_size(training_.bigrams)),
      context_size_(scb::context_size(training_.bigrams)),
      products_(training_.bigrams) {
  if (training_.softmax || !training_.project) {
    reject("scb noisy-lumped", training_.softmax ? "--attention" : "--no-project", "as given",
           "has no Gaussian model; take linear attention, projected, or the rung 'sgd'");
  }
  require_unit_mass(training_, "scb noisy-lumped");
  Index longest = 0;
  for (Index k = 0; k < training_.bigrams.tokens(); ++k) {
    longest = std::max(longest, training_.bigrams.support(k));
  }
  z_.resize(longest);
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

LumpedDescent::AttentionPair LumpedDescent::attention_pair(const Vector<double>& x) const {
  const Bigrams<double>& b = training_.bigrams;
  AttentionPair found;
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const auto own = x.segment(begin, count);
    const double m = x[begin + count];
    const double r = x[begin + count + 1];
    found.overlap += b.stationary[k] * own.dot(law_of(b, k));
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
  const double rate = training_.attention_rate;
  const auto [product, square] = products_.of(v, b);
  const auto [overlap, size] = attention_pair(x);
  mean_value_.noalias() = v * b.stationary;
  Eigen::Map<Matrix<double>> dv(dx.data(), n, n);
  for (Index k = 0; k < n; ++k) {
    dv.col(k) = overlap * (b.transition.col(k) - b.stationary) - size * (v.col(k) - mean_value_);
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const auto law = law_of(b, k);
    for (Index i = 0; i < count; ++i) {
      dx[begin + i] = rate * (product * (law[i] - share) - square * (x[begin + i] - share));
    }
    dx[begin + count] = rate * (-product * share - square * (x[begin + count] - share));
    dx[begin + count + 1] = -rate * square * x[begin + count + 1];
  }
}

void LumpedDescent::sample_step(Vector<double>& x, double eta, Stream& stream, Index batch) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  Eigen::Map<Matrix<double>> v(x.data(), n, n);
  const double share = 1 / static_cast<double>(b.context);
  const double rate = training_.attention_rate;
  const auto [product, square] = products_.of(v, b);
  const auto [overlap, size] = attention_pair(x);
  const NoiseScale scale =
      noise_scale(levels_.shape, batch, size, square, transition_size_, context_size_);
  const double value_scale = scale.value * levels_.value;
  // In one pass over V: the field, as `rhs` has it, and the noise.
  mean_value_.noalias() = v * b.stationary;
  if (value_scale > 0) noise_.draw(b, stream);
  for (Index k = 0; k < n; ++k) {
    auto column = v.col(k);
    const auto field =
        overlap * (b.transition.col(k) - b.stationary) - size * (column - mean_value_);
    if (value_scale > 0) {
      column += eta * (field + value_scale * noise_.column(k));
    } else {
      column += eta * field;
    }
  }
  const double kept = 1 - eta * rate * square;  // rho
  for (Index k = 0; k < n; ++k) {
    const Index begin = begin_of(k);
    const Index count = b.support(k);
    const auto law = law_of(b, k);
    const auto rest = static_cast<double>(b.context - count);
    const double s = eta * rate * scale.attention * levels_.attention[k];
    Eigen::Map<Vector<double>> z(z_.data(), count);
    for (double& value : z) value = stream.normal();
    const double rest_sum = rest > 0 ? std::sqrt(rest) * stream.normal() : 0.0;
    take_off_mean(z, rest_sum, static_cast<double>(b.context));
    for (Index i = 0; i < count; ++i) {
      double& a = x[begin + i];
      a += eta * (rate * (product * (law[i] - share) - square * (a - share))) + s * z[i];
    }
    double& m = x[begin + count];
    double& r = x[begin + count + 1];
    m = rest > 0 ? (1 - x.segment(begin, count).sum()) / rest : 0.0;
    if (rest >= 2) {
      const double moved = kept * r + s * stream.normal();
      r = std::sqrt(moved * moved + s * s * chi_square(rest - 2, stream));
    }
  }
}

double LumpedDescent::attention_coefficient(const Vector<double>& x) const {
  const double share = 1 / static_cast<double>(training_.bigrams.context);
  return (attention_pair(x).overlap - share) / (context_size_ - share);
}

double LumpedDescent::attention_size(const Vector<double>& x) const {
  return attention_pair(x).size;
}

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
  write_row(observable_table<double>(),
            read_observables<double>(b, v, products_, sums, transition_size_, context_size_), row);
}

std::string LumpedDescent::divergence(const Vector<double>& x, double step, Index batch) const {
  const Bigrams<double>& b = training_.bigrams;
  const Index n = b.tokens();
  const double square = products_.of(Eigen::Map<const Matrix<double>>(x.data(), n, n), b).square;
  return divergence_of(x.head(n * n).squaredNorm(), attention_pair(x).size, square, step,
                       training_.attention_rate, batch);
}

}  // namespace popgrad::scb
