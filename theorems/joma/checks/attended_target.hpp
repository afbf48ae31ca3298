#pragma once
/// What attention makes of the argument of phi', on symbols, and of the entropy of the reduced rungs.

#include <functional>

#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::checks {

/// On the code of training, two tokens in two classes, one unit with residual, phi = tanh, generic
/// symbols: with exp attention, a = exp(z/T),
///   v' = a o G(a o v),  T z' = v o v',
/// G the field at z = 0. `scaled` false: G(v) in place of G(a o v), as in Eqn 10.
Truth attention_scales_argument(bool scaled);

/// On the code of the rung `attended`, G(u) = mu - u: at a v = mu, with w = 2 v^2/tau,
///   v' = 0,  -dv'/dv = rate(w)
/// and for linear phi its field is that of `reduced`.
Truth attended_linearisation(const std::function<Expression(const Expression& w)>& rate);

/// How deep the attention entropy falls on the rung `reduced` or `attended`, and where it ends.
struct EntropyBounce {
  Quantity least;
  double last = 0;
  [[nodiscard]] Quantity rebound() const { return Quantity(last) - least; }
};
/// One unit, nonlinear phi, exp attention. Cost grows with the ratio of the rates at the end.
EntropyBounce entropy_bounce_of(const ReducedInstance<double>& instance);

}  // namespace popgrad::joma::checks
