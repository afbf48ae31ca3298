#pragma once
/// What the decoder answers to one feature vector: alpha = softmax(Y'f), its error and loss.

#include <cmath>

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::scan_snap {

/// From the logits of C columns, each of which stands for multiplicity[c] tokens: writes e - alpha,
/// of a single token of each column, to `residual` and returns the loss -ln alpha[label] in nats.
/// `logits` and `residual` are C numbers each and may be the same. Cost C exp.
template <Transcendental T>
T respond(const T* logits, const Vector<T>& multiplicity, Index label, T* residual) {
  using std::exp, std::log;
  const Index columns = multiplicity.size();
  T shift(0);
  if constexpr (Ordered<T>) {
    shift = logits[0];
    for (Index c = 1; c < columns; ++c) {
      if (shift < logits[c]) shift = logits[c];
    }
  }
  const T own = logits[label] - shift;
  T total(0);
  for (Index c = 0; c < columns; ++c) {
    residual[c] = exp(T(logits[c] - shift));
    total = total + multiplicity[c] * residual[c];
  }
  for (Index c = 0; c < columns; ++c) residual[c] = -(residual[c] / total);
  residual[label] = residual[label] + T(1);
  return log(total) - own;
}

/// Probability that the most likely token is `label`, ties broken by lot. Cost C.
template <Ordered T>
double hit_probability(const T* logits, const Vector<T>& multiplicity, Index label) {
  double tied = 0;
  for (Index c = 0; c < multiplicity.size(); ++c) {
    if (logits[label] < logits[c]) return 0;
    if (!(logits[c] < logits[label])) tied += to_double(multiplicity[c]);
  }
  return 1 / tied;
}

}  // namespace popgrad::scan_snap
