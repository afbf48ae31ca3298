#pragma once
/// How the attention entropy of the reduced flow falls first and rises last; for double and for Real.

#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::checks {

/// (ln d - H)/(Var(z)/2) as t goes to 0, with z = v^2/tau of the linearised start.
template <class T>
Quantity first_fall(const ReducedFlow<T>& flow, const AnyRung<T>& rung);

/// Where every token has 1e-4 of its way to mu left at most, and the entropy rises.
struct LastRise {
  double time = 0;
  double entropy_at_target = 0;
  Quantity rate;             ///< d ln(H(mu) - H)/dt there, of the flow
  Quantity linearised_rate;  ///< the same, linearised at mu
  /// H(mu) - H there over sum_j |w_j|, w_j = dH/dv_j (mu_j - v_j) at mu; and linearised at mu.
  Quantity lack, linearised_lack;
  double lack_of_even = 0;  ///< the same of ln d - H
  /// Linearised at mu, where all tokens have one share of their way left, as under uniform attention.
  double uniform_lack = 0;
  Quantity least_entropy;  ///< of the flow until then, in double
};
/// Throws std::runtime_error if the entropy settles without a rise.
template <class T>
LastRise last_rise(const ReducedFlow<T>& flow, const AnyRung<T>& rung);

}  // namespace popgrad::joma::checks
