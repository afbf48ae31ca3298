#pragma once
/// Whether the law of one draw is known well enough to be offered.

#include "popgrad/draw_law.hpp"
#include "popgrad/rung.hpp"

namespace popgrad {

/// The expansion of draw_law.hpp leaves a bias of order 1/length^2, which a step size and a batch make
/// small beside fluctuations never: at 128 tokens (scan-snap, batch 128, 20 steps) it is a whole
/// standard deviation over runs, from this length on below 2 % of one.
inline constexpr Index shortest_expansion = 1024;

inline bool draws_are_known(const DrawLaw& law) {
  return law.length >= shortest_expansion || is_enumerated(law);
}

/// Takes back what a rung says of one draw.
template <class T>
void forget_law_of_draws(AnyRung<T>& rung) {
  rung.draw_mean = nullptr;
  rung.draw_covariance = nullptr;
}

}  // namespace popgrad
