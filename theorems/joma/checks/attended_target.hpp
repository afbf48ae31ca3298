#pragma once
/// What attention makes of the argument of phi', on symbols.

#include "popgrad/scalars/scalar.hpp"

namespace popgrad::joma::checks {

/// On the code of training, two tokens in two classes, one unit with residual, phi = tanh, generic
/// symbols: with exp attention, a = exp(z/T),
///   v' = a o G(a o v),  T z' = v o v',
/// G the field at z = 0. `scaled` false: G(v) in place of G(a o v), as in Eqn 10.
Truth attention_scales_argument(bool scaled);

}  // namespace popgrad::joma::checks
