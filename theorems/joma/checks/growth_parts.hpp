#pragma once
/// Comparisons of joma.linear-growth on one instance: v' = Delta o exp(v^2/tau) of the first unit.

#include "popgrad/evidence/examination.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::checks {

inline constexpr double growth_tolerance = 1e-12;

/// |Delta|_max of the first unit.
double largest_gradient(const ReducedInstance<double>& instance);
/// y = erfinv(share Delta_l/|Delta|_max), where token l stops in units of sqrt tau for share 1.
double limit_of(const ReducedInstance<double>& instance, Index token, double share);

/// Separation of variables along the rung's own right-hand side, on symbols:
///   d/dt [erf(v/sqrt tau) sqrt(pi tau)/2 - Delta t] = 0
void prove_growth(Examination& it);

/// Where a solve ends because a token tends to infinity.
struct BlowUp {
  Quantity time;                ///< part: solver
  std::vector<Quantity> state;  ///< then, of all components; part: solver
};
/// Throws std::runtime_error if no token blows up before `latest`.
BlowUp blow_up_of(const ReducedInstance<double>& instance, double latest);

/// Time against sqrt(pi tau)/(2 |Delta|_max), and v of the tokens that are left against their
/// limits. Controls: blow-up-late, limits.
void judge_blow_up(const ReducedInstance<double>& instance, const BlowUp& blow_up, Examination& it);
/// erf(v_l/sqrt tau) sqrt(pi tau)/2 = Delta_l t until shortly before the blow-up.
/// Control: wide-law.
void judge_law(const ReducedInstance<double>& instance, const BlowUp& blow_up, Examination& it);
/// The attention entropy falls at every time; its fall from ln d against the leading term, and the
/// way that is left to ln m. Nothing is judged where all |Delta_l| are the same, where it stays.
/// Controls: first-fall, tie-more.
void judge_entropy(const ReducedInstance<double>& instance, const BlowUp& blow_up, Examination& it);

}  // namespace popgrad::joma::checks
