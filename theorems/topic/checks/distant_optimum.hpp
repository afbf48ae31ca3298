#pragma once
/// The landscape of attention at numbers of topics far beyond those that can be enumerated, and in
/// the limit.

#include <vector>

#include "popgrad/scalars/expression.hpp"
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
  Quantity beta;   ///< 0 for the minimum-norm W_V, where g alone matters
};
/// The global minimum in double, then Newton steps in 50 digits. Part: rounding.
BestWeights best_weights(const LargeLaw& law, bool diagonal);

/// One over the sizes of at_sizes, in units of the first: 1, 1/2, 1/4.
std::vector<double> inverse_sizes();
/// At a size and at twice and four times it in tau and T/tau.
std::vector<Quantity> at_sizes(const LargeLaw& law, bool diagonal, Quantity BestWeights::*weight);

/// Twice the change when the size is doubled, in units of `unit`: what is left to a limit that is
/// approached in first order.
double left_to_limit(const Quantity& here, const Quantity& there, const Quantity& unit);

/// dL/dy as T, tau and T/tau grow, for g = y tau (minimum-norm W_V) or alpha = y tau (diagonal W_V,
/// beta a symbol): from the joint limits of the coefficients of the landscape.
struct LimitingSlope {
  Expression v, p_m, p_c, y, a;
  Expression weight;  ///< v^2 block-wise, v diagonal
  Expression slope;
};
/// Throws std::domain_error if a coefficient has no limit.
LimitingSlope limiting_slope(bool diagonal);

}  // namespace popgrad::topic::checks
