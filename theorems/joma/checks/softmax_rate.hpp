#pragma once
/// The rate of the softmax residual at a state, measured and term by term.

#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace popgrad::joma::checks {

/// Everything an entry a token (M_C), for R = z - (1/2T) sum_k (v_k^2 - |v_k|^2 b_bar).
struct SoftmaxRate {
  std::vector<Quantity> measured;    ///< T R' by dual numbers along the rung's field; rounding
  Vector<double> defect;             ///< E[b q] - b_bar E[q], q = sum_k g_k phi' v_k'b
  Vector<double> defect_with_query;  ///< the same with q = sum_k g_k phi' w_k'f
  Vector<double> drift;              ///< 1/2 sum_k |v_k|^2 b_bar'
};

/// Cost: one evaluation of the field over dual numbers.
SoftmaxRate softmax_rate(const PopulationFlow<double>& flow, const Vector<double>& state);

}  // namespace popgrad::joma::checks
