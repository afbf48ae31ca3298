#pragma once
/// Linear and exp attention: the conservation law of Theorem 1 in numbers.

#include "popgrad/evidence/examination.hpp"
#include "theorems/joma/checks/invariant_parts.hpp"

namespace popgrad::joma::checks {

inline constexpr Control larger_weights{"weights", "`1.1 sum v^2` in place of `sum v^2`"};
inline constexpr Control unit_short{"unit-short", "the sum over all hidden units but the last"};
inline constexpr Control late_slope{"late-slope", "slopes after the step in place of before it"};
inline constexpr Control descent_conserves{"descent-conserves",
                                           "descent conserves it as the flow does"};
inline constexpr Control normalised_f{"normalised-f",
                                      "`f` divided by its norm, so the third hypothesis fails"};

/// Linear or exp attention: growth of z^2 or z along the flow against what the invariant makes of
/// that of v (`grows`), and the drift of the invariant under full-batch descent (`drifts`) against
///   linear   eta^2 sum over steps of (z'^2 - sum_k v_k'^2)
///   exp      -(eta^2/2T) sum over steps of sum_k v_k'^2
/// Controls: larger_weights, unit_short; late_slope, descent_conserves.
void judge_conservation(const ClassInstance<double>& instance, const Clause& grows,
                        const Clause& drifts, Examination& it);

}  // namespace popgrad::joma::checks
