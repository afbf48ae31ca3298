#pragma once
/// Eqn 10 with the learning speed of one class prescribed, and what is left for all tokens but the
/// leading one.

#include <functional>

#include "popgrad/quantity.hpp"
#include "popgrad/rung_fwd.hpp"
#include "theorems/scan_snap/leading_token.hpp"

namespace popgrad::theorems::scan_snap {

inline constexpr double driven_tolerance = 1e-11;
/// B_n up to which the flow is followed: overlap falls as exp(-2 (K_m + 1) B_n), and stays above the
/// least double.
inline constexpr double longest_growth = 24;

/// The reduced flow of a token's instance on another clock: B_n' = speed_at(t), n its class. The
/// token has to outlive the rung.
AnyRung<double> driven(const LeadingToken& token, std::function<double(double)> speed_at);

/// B_n from which on `order_of_rest` is fitted: the first of whole numbers where a thousandth of the
/// attention is left.
double late_growth_of(const LeadingToken& token);

/// Order of 1 - c_nl0 in 1/(1+t) under B_n' = a/(1+t)^p, from a ln(1+t) = late on.
Quantity order_of_rest(const LeadingToken& token, double a, double p, double late);

/// Limit of 1 - c_nl0 as t -> infinity under the same, p > 1.
Quantity limit_of_rest(const LeadingToken& token, double a, double p);

}  // namespace popgrad::theorems::scan_snap
