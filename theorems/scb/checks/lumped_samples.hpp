#pragma once
/// States of dense and lumped noisy descent in numbers that both have, sampled.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

/// The attention of a token in a dense state, on the support of its q and off it.
struct Attention {
  std::vector<double> on, off;
};
inline Attention attention_of(const Bigrams<double>& b, const Vector<double>& x, Index k) {
  const auto begin = b.position.begin() + b.first[static_cast<std::size_t>(k)];
  Attention found;
  for (Index t = 0; t < b.context; ++t) {
    const bool on = std::binary_search(begin, begin + b.support(k), t);
    (on ? found.on : found.off).push_back(x[b.tokens() * b.tokens() + k * b.context + t]);
  }
  return found;
}

/// The state of the rung noisy-lumped that a dense one is lumped to.
inline Vector<double> lump(const Bigrams<double>& b, const Vector<double>& x) {
  std::vector<double> y(x.begin(), x.begin() + b.tokens() * b.tokens());
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto [on, off] = attention_of(b, x, k);
    y.insert(y.end(), on.begin(), on.end());
    const double sum = std::accumulate(off.begin(), off.end(), 0.0);
    // As the rung has it where all positions count.
    const double mean = off.empty() ? 0.0 : sum / static_cast<double>(off.size());
    double squares = 0;  // of differences: those of attention that is spread evenly are 0
    for (const double a : off) squares += (a - mean) * (a - mean);
    y.push_back(mean);
    y.push_back(std::sqrt(squares));
  }
  return Eigen::Map<const Vector<double>>(y.data(), std::ssize(y));
}

/// In the l1 stage, over all tokens: an entry of V, the sum over the supports, and of the rest the
/// numbers above and below zero, their sums, the sum of squares.
inline Vector<double> l1_numbers(double value, double on, const std::vector<double>& off) {
  Vector<double> numbers = Vector<double>::Zero(7);
  numbers.head(2) << value, on;
  for (const double a : off) {
    if (a == 0) continue;
    const Index side = a > 0 ? 2 : 3;
    numbers[side] += 1;
    numbers[side + 2] += a;
    numbers[6] += a * a;
  }
  return numbers;
}
/// Of a state of the rung noisy.
inline Vector<double> dense_l1_numbers(const Bigrams<double>& b, const Vector<double>& x) {
  double on = 0;
  std::vector<double> off;
  for (Index k = 0; k < b.tokens(); ++k) {
    const Attention own = attention_of(b, x, k);
    for (const double a : own.on) on += a;
    off.insert(off.end(), own.off.begin(), own.off.end());
  }
  return l1_numbers(x[0], on, off);
}
/// Of a state of the lumped three-part descent. One-sided: zeros have left upwards only.
inline Vector<double> lumped_l1_numbers(const Bigrams<double>& b, const Vector<double>& x,
                                        bool one_sided) {
  double on = 0;
  std::vector<double> off;
  Index at = b.tokens() * b.tokens();
  for (Index k = 0; k < b.tokens(); ++k) {
    on += x.segment(at, b.support(k)).sum();
    at += b.support(k) + 1;  // with noise the common value behind is 0
    const auto listed = static_cast<Index>(x[at++]);
    for (const Index end = at + listed; at < end; ++at) {
      if (x[at] > 0 || !one_sided) off.push_back(x[at]);
    }
  }
  return l1_numbers(x[0], on, off);
}

/// One row a draw.
template <class Draw>
Matrix<double> sample(std::uint32_t draws, Draw draw) {
  Matrix<double> rows;
  for (std::uint32_t i = 0; i < draws; ++i) {
    throw_if_stopped();
    const Vector<double> numbers = draw(i);
    if (i == 0) rows.resize(draws, numbers.size());
    rows.row(i) = numbers;
  }
  return rows;
}

/// Means, then variances if asked for, and what they are relative to: standard deviations and
/// variances.
struct Moments {
  std::vector<Quantity> numbers;
  std::vector<double> spreads;
};
/// Of all columns, whose numbers are sums over at most `positions`.
inline Moments moments_of(const Matrix<double>& samples, bool variances, Index positions,
                          double false_alarm) {
  const auto terms = static_cast<double>(positions);
  SampleMoments sampled = sample_moments(samples, false_alarm);
  Moments found;
  for (std::size_t place = 0; place < sampled.mean.size(); ++place) {
    const double largest = samples.col(static_cast<Index>(place)).cwiseAbs().maxCoeff();
    const double rounded = ErrorPart::rounding(terms, largest).size();
    const double deviation = std::sqrt(sampled.variance[place].value());
    sampled.mean[place].add(ErrorPart::rounding(terms, largest));
    sampled.variance[place].add(ErrorPart::rounding(terms, (2 * deviation + rounded) * largest));
    found.spreads.push_back(deviation);
  }
  found.numbers = sampled.mean;
  for (const Quantity& variance : sampled.variance) {
    if (!variances) break;
    found.numbers.push_back(variance);
    found.spreads.push_back(variance.value());
  }
  return found;
}

}  // namespace popgrad::scb::checks
