#pragma once
/// Eqn 10 with the learning speed of one class prescribed, and what is left for all tokens but the
/// leading one.

#include <functional>

#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/scan_snap/checks/leading_token.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr double driven_tolerance = 1e-11;
/// B_n up to which xi_n and common tokens are followed, where the order is not read further out.
inline constexpr double longest_growth = 24;

/// The reduced flow of a token's instance on another clock: B_n' = speed_at(t), n its class. The
/// token has to outlive the rung.
AnyRung<double> driven(const LeadingToken& token, std::function<double(double)> speed_at);

/// B_n between which `order_of_rest` reads the order, and (1 - c_nl0)/c_nl0 where its last piece
/// begins: 1 - c_nl0 is a sum of powers in the regime where that is small, and nothing is known of
/// its order before.
struct LateGrowth {
  double begin = 0, end = 0, neglected = 0;
};
/// Begins at the first whole number where a thousandth of the attention is left, or as late as the
/// overlap, which falls as exp(-2 (K_m + 1) B_n), stays above the least double to the end.
LateGrowth late_growth_of(const LeadingToken& token);

/// Order of 1 - c_nl0 in 1/(1+t) under B_n' = a/(1+t)^p, where a ln(1+t) is late.
Quantity order_of_rest(const LeadingToken& token, double a, double p, const LateGrowth& late);

/// Limit of 1 - c_nl0 as t -> infinity under the same, p > 1.
Quantity limit_of_rest(const LeadingToken& token, double a, double p);

}  // namespace popgrad::scan_snap::checks
