#include "laws/gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace popgrad::laws {

Gradient loss_gradient(const AnyRung<double>& rung, const Point& at, Index most, double step) {
  const auto loss = static_cast<std::size_t>(column(rung, "loss"));
  Point moved = at;
  const auto difference = [&](Index i, double h) {
    moved.x[i] = at.x[i] + h;
    const double above = observed(rung, moved)[loss];
    moved.x[i] = at.x[i] - h;
    const double below = observed(rung, moved)[loss];
    moved.x[i] = at.x[i];
    return (above - below) / (2 * h);
  };
  // A smooth loss of order one moves a difference by step^2 times its third derivative.
  constexpr double kink = 1e-3;
  const double size = 1 + std::fabs(observed(rung, at)[loss]);
  Gradient g;
  g.value = Vector<double>::Constant(at.x.size(), std::numeric_limits<double>::quiet_NaN());
  const Index stride = std::max<Index>(1, at.x.size() / most);
  for (Index i = 0; i < at.x.size(); i += stride) {
    const double coarse = difference(i, step);
    const double fine = difference(i, step / 2);
    if (std::fabs(fine - coarse) > kink * (1 + std::fabs(fine))) continue;
    g.value[i] = (4 * fine - coarse) / 3;
    // The next order is smaller by about step^2; a rounding of the loss is divided by the step.
    g.error = std::max({g.error, 0.01 * std::fabs(fine - coarse), 5e-15 * size / step});
  }
  return g;
}

}  // namespace popgrad::laws
