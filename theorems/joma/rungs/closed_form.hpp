#pragma once
/// Rung `closed-form`: solutions of the reduced flow for one hidden unit, token by token.
///
/// The tokens decouple for K = 1 and exp or linear attention, so every function here is for one
/// token. Source: arXiv 2310.00535, Theorem 2 (linear phi) and Theorem 4 (nonlinear phi); general
/// starts and tau, and the constants of Theorem 4, are popgrad's.
/// Instantiated for double and for Real up to 100 digits (InputError beyond).

#include "popgrad/rungs/rung.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma {

/// v(t) of v' = Delta exp(v^2/tau), v(0) = start:
///   erf(v/sqrt tau) = erf(v(0)/sqrt tau) + 2 Delta t / sqrt(pi tau)
/// before the blow-up; infinite after. Error: a few units in the last place.
template <class T>
T linear_phi_component(const T& delta, const T& start, const T& tau, const T& t);

/// Time at which v' = Delta exp(v^2/tau) leaves every bound, infinite for Delta = 0:
///   (sqrt(pi tau)/2) (1 - sgn(Delta) erf(v(0)/sqrt tau)) / |Delta|
template <class T>
T blow_up_time(const T& delta, const T& start, const T& tau);

/// v(t) of v' = (Delta/T) sqrt(v^2 + c), c > 0:
///   v = sqrt(c) sinh(Delta t/T + asinh(v(0)/sqrt c))
template <class T>
T linear_attention_component(const T& delta, const T& start, const T& offset, const T& temperature,
                             const T& t);

/// Time that v' = (mu - v) exp(v^2/tau) takes until ln(delta(0)/delta) = y >= 0, delta = 1 - v/mu:
///   t    = int_0^y exp(-v(y')^2/tau) dy'
///   v(y) = mu - (mu - v(0)) e^-y
/// Error: 1e-14 relative in double, digits - 5 in Real; Gauss quadrature on panels.
template <class T>
T time_to_approach(const T& mu, const T& start, const T& tau, const T& y);

/// y(t) = ln(delta(0)/delta(t)), the inverse of time_to_approach (bracketed Newton).
template <class T>
T approach_at(const T& mu, const T& start, const T& tau, const T& t);

/// C of the late solution (Theorem 4; C is derived here):
///   ln(1/|delta|) = e^{mu^2/tau} s + C + o(1)
///   C             = ln(1/|delta(0)|) + int_{v(0)}^{mu} (1 - e^{(mu^2 - v^2)/tau}) / (mu - v) dv
template <class T>
T approach_constant(const T& mu, const T& start, const T& tau);

/// The fixed point of v' = a (mu - a v), a = exp(v^2/tau), with Lambert's W:
///   v exp(v^2/tau) = mu,  v^2 = (tau/2) W(2 mu^2/tau)
/// Rung `attended`. Error: a few units in the last place.
template <class T>
T attended_fixed_point(const T& mu, const T& tau);

/// The rate at which it is approached, mu != 0:
///   (1 + w) e^w = (2 mu^2/tau) (1 + 1/w),  w = W(2 mu^2/tau) = 2 v^2/tau
template <class T>
T attended_rate(const T& mu, const T& tau);

/// The whole rung: `state_at` without integration. InputError for several units, softmax attention
/// or a start at 0 of linear attention, where no closed form is known.
template <class T>
AnyRung<T> closed_form_rung(const ReducedInstance<T>& instance);

}  // namespace popgrad::joma
