#pragma once
/// What dense and lumped noisy descent have in common, sampled, and compared moment by moment.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

/// Is position t of token k on the support of q^k?
inline bool supported(const Bigrams<double>& b, Index k, Index t) {
  const auto begin = b.position.begin() + b.first[static_cast<std::size_t>(k)];
  return std::binary_search(begin, begin + b.support(k), t);
}

/// The state of the rung noisy-lumped that a dense one is lumped to.
inline Vector<double> lump(const Bigrams<double>& b, const Vector<double>& x) {
  const Index n = b.tokens();
  Vector<double> y(n * n + b.entries() + 2 * n);
  y.head(n * n) = x.head(n * n);
  Index at = n * n;
  for (Index k = 0; k < n; ++k) {
    const auto attention = x.segment(n * n + k * b.context, b.context);
    double sum = 0;
    for (Index t = 0; t < b.context; ++t) {
      if (supported(b, k, t)) {
        y[at++] = attention[t];
      } else {
        sum += attention[t];
      }
    }
    const auto rest = static_cast<double>(b.context - b.support(k));
    const double mean = rest > 0 ? sum / rest : 0;  // as the rung has it where all positions count
    double squares = 0;  // of differences: those of attention that is spread evenly are 0
    for (Index t = 0; t < b.context; ++t) {
      if (!supported(b, k, t)) squares += (attention[t] - mean) * (attention[t] - mean);
    }
    y[at++] = mean;
    y[at++] = std::sqrt(squares);
  }
  return y;
}

/// Of a lumped state: one entry of V, and of every token the first value on the support, the sum of
/// these, and r^2.
inline Vector<double> boost_features(const Bigrams<double>& b, const Vector<double>& y) {
  const Index n = b.tokens();
  Vector<double> features(1 + 3 * n);
  features[0] = y[0];
  Index at = n * n;
  for (Index k = 0; k < n; ++k) {
    const Index count = b.support(k);
    features.segment(1 + 3 * k, 3) << y[at], y.segment(at, count).sum(),
        y[at + count + 1] * y[at + count + 1];
    at += count + 2;
  }
  return features;
}

/// The sum over all positions of every token's attention in a lumped state.
inline std::vector<Quantity> masses_of(const Bigrams<double>& b, const Vector<double>& y) {
  std::vector<Quantity> sums;
  Index at = b.tokens() * b.tokens();
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index count = b.support(k);
    const auto rest = static_cast<double>(b.context - count);
    sums.push_back({y.segment(at, count).sum() + rest * y[at + count],
                    {ErrorPart::rounding(static_cast<double>(b.context), 1)}});
    at += count + 2;
  }
  return sums;
}

/// One row a draw.
inline Matrix<double> sample(std::uint32_t draws,
                             const std::function<Vector<double>(std::uint32_t)>& draw) {
  Matrix<double> rows;
  for (std::uint32_t i = 0; i < draws; ++i) {
    throw_if_stopped();
    const Vector<double> features = draw(i);
    if (i == 0) rows.resize(draws, features.size());
    rows.row(i) = features;
  }
  return rows;
}

/// Means, then variances if asked for, of all columns, whose numbers are sums of `terms`.
inline std::vector<Quantity> moments_of(const Matrix<double>& samples, bool variances, double terms,
                                        double false_alarm) {
  SampleMoments moments = sample_moments(samples, false_alarm);
  for (Index k = 0; k < samples.cols(); ++k) {
    const auto place = static_cast<std::size_t>(k);
    const double largest = samples.col(k).cwiseAbs().maxCoeff();
    const double rounded = ErrorPart::rounding(terms, largest).size();
    const double deviation = std::sqrt(moments.variance[place].value());
    moments.mean[place].add(ErrorPart::rounding(terms, largest));
    moments.variance[place].add(ErrorPart::rounding(terms, (2 * deviation + rounded) * largest));
  }
  std::vector<Quantity> all = moments.mean;
  if (variances) all.insert(all.end(), moments.variance.begin(), moments.variance.end());
  return all;
}

/// What these are relative to: standard deviations and variances.
inline std::vector<double> spreads_of(const Matrix<double>& samples, bool variances) {
  const Vector<double> variance =
      (samples.rowwise() - samples.colwise().mean()).colwise().squaredNorm() /
      static_cast<double>(samples.rows());
  const Vector<double> deviation = variance.cwiseSqrt();
  std::vector<double> all(deviation.begin(), deviation.end());
  if (variances) all.insert(all.end(), variance.begin(), variance.end());
  return all;
}

}  // namespace popgrad::scb::checks
