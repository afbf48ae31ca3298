#pragma once
/// Heavy ball as plain steps of a state twice as long, so that what is made for plain steps (moments,
/// linear runs) holds for it.
///
///   v <- beta v + g,  x <- x + eta v      is, with y = eta v,
///   (x, y) <- (x, y) + eta (g + beta y/eta,  g - (1 - beta) y/eta)
/// where g is the direction of a batch; with Sigma the covariance of one draw of g, that of the pair is
/// Sigma in all four blocks. Exact: nothing is neglected. Derived here.

#include "popgrad/rungs/rung_fwd.hpp"

namespace popgrad {

/// The state of `sgd` and the last step y, one behind the other; y is 0 at first. Columns are those of
/// `sgd`. Holds for plain steps of `step_size` > 0 alone; `momentum` is beta in [0, 1).
/// Cost of a direction: that of `sgd`. Throws std::invalid_argument if `sgd` has steps of its own law.
AnyRung<double> momentum_pair(const AnyRung<double>& sgd, double momentum, double step_size);

}  // namespace popgrad
