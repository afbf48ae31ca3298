#include "solving/quintic_step.hpp"

#include "solving/algebra.hpp"

namespace popgrad::solving {

Vector<Real> QuinticStep::cubic(const Real& u) const {
  const Real w = 1 - u;
  return first_ * Real(w * w * (1 + 2 * u)) + last_ * Real(u * u * (1 + 2 * w)) +
         slope_first_ * Real(u * w * w) - slope_last_ * Real(u * u * w);
}

Vector<Real> QuinticStep::slope_of_cubic(const Real& u) const {
  const Real w = 1 - u;
  return (last_ - first_) * Real(6 * u * w) + slope_first_ * Real(w * (w - 2 * u)) +
         slope_last_ * Real(u * (u - 2 * w));
}

Vector<Real> QuinticStep::slope(const Real& u) const {
  const Real both = u * (1 - u);
  const Real turned = 1 - 2 * u;
  return slope_of_cubic(u) + even_ * Real(2 * both * turned) +
         odd_ * Real(2 * both * (both - turned * turned));
}

bool QuinticStep::fit(const Field<Real>& field, const End& begin, const End& end,
                      const Real& allowed) {
  t_old_ = begin.t;
  width_ = end.t - begin.t;
  first_ = begin.x;
  last_ = end.x;
  slope_first_ = begin.slope * width_;
  slope_last_ = end.slope * width_;
  Vector<Real> image(begin.x.size());
  // By how much the cubic's slope falls short of the field's.
  const auto lack_at = [&](const Real& u) -> Vector<Real> {
    field.rhs(cubic(u), image, t_old_ + width_ * u);
    return image * width_ - slope_of_cubic(u);
  };
  const Real quarter = Real(1) / 4;
  const Vector<Real> early = lack_at(quarter);
  const Vector<Real> late = lack_at(3 * quarter);
  // The slopes of u^2 (1 - u)^2 at 1/4 and 3/4 are 3/16 and -3/16, those of (2 u - 1) u^2 (1 - u)^2 both
  // -3/128.
  even_ = (early - late) * Real(Real(8) / 3);
  odd_ = (early + late) * Real(Real(-64) / 3);
  const Real between = Real(3) / 8;
  const Real time = t_old_ + width_ * between;
  Vector<Real> x(begin.x.size());
  at(time, x);
  field.rhs(x, image, time);
  fits_ = norm_inf(Vector<Real>(image * width_ - slope(between))) <= allowed;
  return fits_;
}

void QuinticStep::at(const Real& t, Vector<Real>& x) const {
  const Real u = (t - t_old_) / width_;
  const Real both = u * (1 - u);
  x = cubic(u) + (even_ + odd_ * Real(2 * u - 1)) * Real(both * both);
}

}  // namespace popgrad::solving
