#pragma once
/// The reduced flow on the clocks of softmax and of exp attention, side by side.

#include "popgrad/evidence/examination.hpp"
#include "popgrad/evidence/solved.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::checks {

/// The softmax flow of the instance, with the time of the exp clock as last component of the state:
///   dt_exp = dt_softmax / sum_l a_l,  a_l = exp(sum_k v_lk^2/tau)
/// One solve a time: between the ends of its steps a solver has errors of another kind, which need
/// not fall with the tolerance.
std::vector<Solved> solve_softmax_flow(const ReducedInstance<double>& instance,
                                       const std::vector<double>& times, double tolerance);

/// States of the softmax flow against those of the exp flow at the times of its clock.
/// Control: exp-clock, those times 10 % short.
void judge_orbits(const ReducedInstance<double>& instance, const std::vector<Solved>& softmax,
                  double tolerance, Examination& it);

/// The sums of every unit along the softmax flow, of ln(|delta(0)|/|delta|) or (v - v(0))/Delta,
/// against t. Controls: sum-rate, token-short.
void judge_sums(const ReducedInstance<double>& instance, const std::vector<Solved>& softmax,
                Examination& it);

/// On symbols: one field is the other times sum_l a_l, and the two sums grow at the rate 1.
/// Controls: inverse-clock, no-logarithm.
void prove_clock_change(bool nonlinear, Examination& it);

}  // namespace popgrad::joma::checks
