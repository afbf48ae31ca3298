#pragma once
/// The landscape of attention at numbers of topics far beyond those that can be enumerated.

#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

/// T, tau and v as fractions: T v is beyond the whole numbers of a machine.
using LargeLaw = TopicLaw<Rational, Rational>;

LargeLaw unbounded(const TopicLaw<Rational>& law);
/// tau and T/tau so many times as large.
LargeLaw enlarged(LargeLaw law, const Rational& more_active, const Rational& emptier);

/// Best weights of a query.
struct BestWeights {
  Quantity ratio;  ///< g*/(tau v) for the minimum-norm W_V, alpha*/(tau v) for the diagonal one
  Quantity beta;   ///< 0 for the minimum-norm W_V, where only g matters
};
/// The global minimum in double, then Newton steps in 50 digits. Part: rounding.
BestWeights best_weights(const LargeLaw& law, bool diagonal);

}  // namespace popgrad::topic::checks
