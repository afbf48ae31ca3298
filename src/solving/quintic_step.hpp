#pragma once
/// A polynomial through a step of many digits near a steady state, where stability limits the steps and the
/// solution is smooth inside them.
///
/// Hermite's cubic c through both ends, with two terms that leave values and slopes at the ends as they are,
///   p(u) = c(u) + (a + b (2 u - 1)) u^2 (1 - u)^2,   u = (t - t_old) / H,
/// and a, b so that p' is the field at c(1/4) and c(3/4). How far p' is from the field at p(3/8) says whether it
/// will do: in the middle errors that are even about it would not show.
///
/// Cost: 3 evaluations a step, none a state.

#include "popgrad/scalars/real.hpp"
#include "solving/stepper.hpp"

namespace popgrad::solving {

class QuinticStep {
 public:
  /// Both ends of a step: time, state, slope.
  struct End {
    const Real& t;
    const Vector<Real>& x;
    const Vector<Real>& slope;
  };

  void clear() { fits_ = false; }
  /// Whether the polynomial is within `allowed` of the solution in every component, by its defect.
  bool fit(const Field<Real>& field, const End& begin, const End& end, const Real& allowed);
  [[nodiscard]] bool fits() const { return fits_; }
  /// The state at t.
  void at(const Real& t, Vector<Real>& x) const;

 private:
  [[nodiscard]] Vector<Real> cubic(const Real& u) const;
  // By u, as the slopes at the ends.
  [[nodiscard]] Vector<Real> slope_of_cubic(const Real& u) const;
  [[nodiscard]] Vector<Real> slope(const Real& u) const;

  bool fits_ = false;
  Real t_old_, width_;
  // Values and slopes at the ends, these in units of u; a and b.
  Vector<Real> first_, last_, slope_first_, slope_last_, even_, odd_;
};

}  // namespace popgrad::solving
