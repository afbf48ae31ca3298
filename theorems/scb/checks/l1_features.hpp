#pragma once
/// The first step of the l1 stage, dense and lumped, in numbers that both have.

#include "theorems/scb/checks/lumped_samples.hpp"
#include "theorems/scb/checks/noisy_pair.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::checks {

/// In the l1 stage, over all tokens: an entry of V, the sum over the supports, and of the rest the
/// numbers above and below zero, their sums, the sum of squares.
struct L1Features {
  Vector<double> values = Vector<double>::Zero(7);
  void count(double a) {
    if (a == 0) return;
    const Index side = a > 0 ? 0 : 1;
    values[2 + side] += 1;
    values[4 + side] += a;
    values[6] += a * a;
  }
};
inline Vector<double> dense_l1(const Bigrams<double>& b, const Vector<double>& x) {
  L1Features features;
  const Index n = b.tokens();
  features.values[0] = x[0];
  for (Index k = 0; k < n; ++k) {
    for (Index t = 0; t < b.context; ++t) {
      const double a = x[n * n + k * b.context + t];
      if (supported(b, k, t)) {
        features.values[1] += a;
      } else {
        features.count(a);
      }
    }
  }
  return features.values;
}
/// One-sided: zeros have left upwards only.
inline Vector<double> lumped_l1(const Bigrams<double>& b, const Vector<double>& x, bool one_sided) {
  L1Features features;
  features.values[0] = x[0];
  Index at = b.tokens() * b.tokens();
  for (Index k = 0; k < b.tokens(); ++k) {
    features.values[1] += x.segment(at, b.support(k)).sum();
    at += b.support(k) + 1;  // with noise the common value behind is 0
    const auto listed = static_cast<Index>(x[at++]);
    for (const Index end = at + listed; at < end; ++at) {
      if (x[at] > 0 || !one_sided) features.count(x[at]);
    }
  }
  return features.values;
}

/// Over a quarter of the draws, each six steps long.
inline Matrix<double> dense_l1_ends(const Pair& pair) {
  const ThreePartDescent dense(pair.leaking, pair.schedule(1), pair.levels);
  return sample(pair.draws / 4, [&](std::uint32_t i) {
    return dense_l1(pair.training.bigrams, pair.end_of(dense, (1U << 24U) + i));
  });
}
/// With the weight of the l1 norm times `factor`.
inline Matrix<double> lumped_l1_ends(const Pair& pair, double factor, bool one_sided) {
  const LumpedThreePart lumped(pair.training, pair.schedule(factor), pair.levels);
  return sample(pair.draws / 4, [&](std::uint32_t i) {
    return lumped_l1(pair.training.bigrams, pair.end_of(lumped, (1U << 25U) + i), one_sided);
  });
}

}  // namespace popgrad::scb::checks
