#pragma once
/// What the statements on optimal attention share: certified minima over (alpha, beta).

#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/optimum.hpp"

namespace popgrad::topic::checks {

/// alpha in [0, 20 tau v], beta in [0, 20 tau v] or, for `narrow`, [0, 20]; longer in alpha where
/// less than at the usual probabilities is masked, as the optimum is at tau v/((1 - p_c) p_m).
Box<Rational> weight_box(const TopicLaw<Rational>& law, bool narrow);

/// Where all minimisers lie, certified. Part: enclosure.
struct CertifiedWeights {
  Quantity alpha;  ///< g = alpha + (v - 1) beta, where L depends only on it
  Quantity beta;   ///< 0 there
  Certificate certificate;
};
/// To a thousandth of g, or a hundredth of alpha, and to a quarter of how far g is from v, beta from
/// 1: uniform attention. Throws std::runtime_error if that takes too many boxes.
CertifiedWeights certified_weights(const TopicLaw<Rational>& law,
                                   const Landscape<Rational>& landscape, bool narrow);

/// The best g = alpha + (v - 1) beta, and its value at a point: certified where L depends only on g,
/// else that of the minimum in double.
struct BestSum {
  Quantity g;
  Rational at;
};
BestSum best_sum(const TopicLaw<Rational>& law, const Landscape<Rational>& landscape);

}  // namespace popgrad::topic::checks
