#pragma once
/// The reduced flow on the clocks of softmax and of exp attention, side by side.

#include <functional>
#include <vector>

#include "popgrad/evidence/solved.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::checks {

/// The softmax flow of the instance, with the time of the exp clock as last component of the state:
///   dt_exp = dt_softmax / sum_l a_l,  a_l = exp(sum_k v_lk^2/tau)
/// One solve a time: between the ends of its steps a solver has errors of another kind, which need
/// not fall with the tolerance.
std::vector<Solved> solve_softmax_flow(const ReducedInstance<double>& instance,
                                       const std::vector<double>& times, double tolerance);

/// States of the exp flow at the times that `time_of` makes of the time of the softmax flow and of the time
/// that this gives the exp clock.
std::vector<Quantity> states_of_exp_flow(
    ReducedInstance<double> instance, const std::vector<Solved>& softmax, double tolerance,
    const std::function<double(double softmax_time, double exp_time)>& time_of);

/// Sums of ln(|delta(0)|/|delta|), or of (v - v(0))/Delta for linear phi, over the first `tokens`
/// tokens, for every unit and time of the softmax flow. The errors of the tokens are added up: in
/// the sum they cancel, for linear phi in both solves alike.
std::vector<Quantity> sums_along(const ReducedInstance<double>& instance,
                                 const std::vector<Solved>& softmax, Index tokens);

}  // namespace popgrad::joma::checks
