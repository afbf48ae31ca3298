#pragma once
/// The two clocks of a solve.
///
/// Near a blow-up at t* the solution is a steep function of t but a gentle one of
///   ds    = sqrt(1 + |f|^2) dt
///   dx/ds = f / sqrt(1 + |f|^2)
///   dt/ds = 1 / sqrt(1 + |f|^2)
/// Components grow at most linearly in s while t tends to t* and is found as a component, without
/// the cancellation in t* - t that stops any stepping in t itself. The length of f is smooth, where its
/// largest entry has a kink whenever another becomes the largest, at which high orders are lost.

#include "solving/algebra.hpp"
#include "solving/stepper.hpp"

namespace popgrad::solving {

/// sqrt(1 + |f|^2), where the squares overflow as well.
template <class T>
T speed_of(const Vector<T>& slope) {
  using std::sqrt;
  const T largest = norm_inf(slope);
  constexpr double large = 1e100;
  if (!(largest > T(large))) return sqrt(T(T(1) + slope.squaredNorm()));
  return largest * sqrt(T(Vector<T>(slope / largest).squaredNorm()));
}

/// The field in the arc clock, with t in a unit of its own, on (x, t/unit) of dimension n + 1; one evaluation of
/// the rung each.
template <class T>
Field<T> in_arc_clock(const Field<T>& field, Index n, const T& unit) {
  Field<T> arc;
  arc.rhs = [rhs = field.rhs, n, unit, x = Vector<T>(n), slope = Vector<T>(n)](
                const Vector<T>& y, Vector<T>& dy, const T& /*s*/) mutable {
    x = y.head(n);
    rhs(x, slope, T(y[n] * unit));
    slope *= unit;
    const T speed = speed_of(slope);
    dy.head(n) = slope / speed;
    dy[n] = T(1) / speed;
  };
  return arc;
}

}  // namespace popgrad::solving
