#pragma once
/// Half way between the start and the solution: where stage 2 begins.
///
/// alpha_V = alpha_A = 1/2, V = mu 1' + (P - mu 1')/2 and a^k = 1/T + beta (u^k - 1/T), u^k even on
/// the support of q^k, whose shares are still to be learnt; softmax: w^k = ln a^k.

#include <cmath>
#include <utility>

#include "theorems/scb/checks/examples.hpp"
#include "theorems/scb/rungs/geometry.hpp"

namespace popgrad::scb::checks {

inline constexpr double half = 0.5;  // alpha_V and alpha_A

/// Linear attention; A relaxes as fast as V (eta_A = K_Q/K_P).
inline Training<double> halfway(Bigrams<double> b) {
  const double even = 1 / static_cast<double>(b.context);
  Training<double> made;
  made.start = half * b.transition;
  made.start.colwise() += (1 - half) * b.stationary;
  double overlap = 0;  // sum_k mu_k q^k.u^k
  for (Index k = 0; k < b.tokens(); ++k) {
    overlap += b.stationary[k] / static_cast<double>(b.support(k));
  }
  const double beta = half * (context_size(b) - even) / (overlap - even);
  const auto off = [&](Index) { return (1 - beta) * even; };
  const auto on = [&](Index k, Index) { return off(k) + beta / static_cast<double>(b.support(k)); };
  made.attention_start = dense_attention(b, on, off);
  made.attention_rate = context_size(b) / transition_size(b);
  made.bigrams = std::move(b);
  return made;
}

/// The same start of softmax; shares move as fast at first, eta_A (Q/alpha_A)^2 as much.
inline Training<double> halfway_softmax(Training<double> linear) {
  const Bigrams<double>& b = linear.bigrams;
  linear.softmax = true;
  linear.attention_start = linear.attention_start.array().log();
  const double positions = static_cast<double>(b.entries()) / static_cast<double>(b.tokens());
  linear.attention_rate *= std::pow(positions / half, 2);
  return linear;
}

}  // namespace popgrad::scb::checks
