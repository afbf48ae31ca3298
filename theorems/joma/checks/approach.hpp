#pragma once
/// The reduced flow in the logarithms of what is left of the way to mu, nonlinear phi.
///
/// All units of a token l share
///   y_l  = ln(delta_lk(0)/delta_lk),  delta_lk = 1 - v_lk/mu_lk,
///   v_lk = mu_lk - (mu_lk - v_lk(0)) e^{-y_l},
/// so that nothing cancels near mu. The clock is y_r of a token r that is chosen:
///   dy_l/dy_r = exp((|v_l|^2 - |v_r|^2)/tau)
///   ds/dy_r   = exp(-|v_r|^2/tau),
/// s the time of exp attention. Softmax attention has the same orbit (joma.clock-change).

#include <vector>

#include "popgrad/evidence/examination.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::checks {

/// State y_0 .. y_{d-1}, s; all 0 at the start. Cost O(M_C K) an evaluation.
AnyRung<double> approach_of(const ReducedInstance<double>& instance, Index clock_token);

/// v at the state y of that rung, by columns as in the rung `reduced`.
Vector<double> weights_after(const ReducedInstance<double>& instance, const Vector<double>& y);

/// The token whose mu is least, or largest, over all units.
Index weakest_token(const ReducedInstance<double>& instance);
Index strongest_token(const ReducedInstance<double>& instance);

/// y of all tokens at these values of the clock, one list a value. The solver error is the sum of
/// what two solves say, at 10 and at 100 times the tolerance: one may agree by accident.
std::vector<std::vector<Quantity>> logarithms_of(const ReducedInstance<double>& instance,
                                                 Index clock_token,
                                                 const std::vector<double>& clock);

/// ln(delta(0)/delta) of all weights along the rung `reduced`, exp attention, at times at which the
/// strongest token has 1, 2, 4 and 8 of it, against the flow in logarithms. Weights that have more
/// than 8 of it are left out.
Comparison flow_in_logarithms(const ReducedInstance<double>& instance);

/// mu, K, tau and the seed, as a verdict reports them.
Record parameters_of(const ReducedInstance<double>& instance, const Setting& setting);

}  // namespace popgrad::joma::checks
