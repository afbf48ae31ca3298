#pragma once
/// What attention makes of the argument of phi', on symbols, and the bounce with and without it.

#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::checks {

/// On the code of training, two tokens in two classes, one unit with residual, phi = tanh, generic
/// symbols: with exp attention, a = exp(z/T),
///   v' = a o G(a o v),  T z' = v o v',
/// G the field at z = 0. `scaled` false: G(v) in place of G(a o v), as in Eqn 10.
Truth attention_scales_argument(bool scaled);

/// On the code of the rung `attended`: at mu = v exp(v^2/tau)
///   v' = 0,  -dv'/dv = (1 + w) e^w,  w = 2 v^2/tau;
/// for linear phi the field is that of `reduced`. `moving` false: e^w, as if attention stood still.
Truth attended_linearisation(bool moving);

/// How deep the attention entropy falls on the reduced flow, exp attention, and where it ends.
struct EntropyBounce {
  Quantity least;
  double last = 0;
  [[nodiscard]] Quantity rebound() const { return Quantity(last) - least; }
};
/// One unit, nonlinear phi. Throws std::runtime_error if the flow does not settle.
EntropyBounce entropy_bounce_of(const ReducedInstance<double>& instance);

}  // namespace popgrad::joma::checks
