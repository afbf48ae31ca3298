#pragma once
/// What joma.linear-growth measures on one instance: v' = Delta o exp(v^2/tau) of the first unit.

#include <vector>

#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::checks {

inline constexpr double growth_tolerance = 1e-12;

/// |Delta|_max of the first unit.
double largest_gradient(const ReducedInstance<double>& instance);
/// y = erfinv(share Delta_l/|Delta|_max), where token l stops in units of sqrt tau for share 1.
double limit_of(const ReducedInstance<double>& instance, Index token, double share);

/// Where a solve ends because a token tends to infinity.
struct BlowUp {
  Quantity time;                ///< part: solver
  std::vector<Quantity> state;  ///< then, of all components; part: solver
};
/// Throws std::runtime_error if no token blows up before `latest`.
BlowUp blow_up_of(const ReducedInstance<double>& instance, double latest);

/// The least correlation of the logits v^2/tau with their rates under the attention weights, until
/// shortly before the blow-up: the attention entropy falls at the rate of their covariance.
Quantity least_correlation(const ReducedInstance<double>& instance, const BlowUp& blow_up);
/// (ln d - H)/(t^4 Var(Delta^2)/(2 tau^2)) as t goes to 0.
Quantity first_fall(const ReducedInstance<double>& instance);
/// (H - ln m) over its leading term as 1 - t/t* goes to 0, from the blow-up as measured. `ties`: m.
Quantity last_fall(const ReducedInstance<double>& instance, const BlowUp& blow_up, double ties);

}  // namespace popgrad::joma::checks
