#pragma once
/// Derivatives of the reported loss, by differences of the column alone.

#include "laws/cases.hpp"

namespace popgrad::laws {

struct Gradient {
  Vector<double> value;  ///< d loss / d x_i; NaN where it was not asked for or the loss has a kink
  double error = 0;      ///< largest estimate of what a component is off by
};

/// Central differences at h and h/2, extrapolated: error O(h^4). At most `most` components, evenly
/// spread over the state. A kink shows in the two differences disagreeing. Cost 4 rows a component.
Gradient loss_gradient(const AnyRung<double>& rung, const Point& at, Index most = 1000,
                       double step = 1e-3);

}  // namespace popgrad::laws
