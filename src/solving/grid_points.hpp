#pragma once
/// States inside an extrapolated step that need no evaluation.
///
/// Column j walks a step in 2 j midpoint steps and so passes the fraction p/q of it, after an even
/// number of them, whenever q divides j. Values after an even number of steps have an error that is
/// a series in 1/j^2 (Gragg), so the columns q, 2 q, ..., m q are extrapolated to order 2 m there:
/// with weights
///   w_i = product over l != i of i^2 / (i^2 - l^2),   i = 1 ... m
/// Of 28 columns the midpoint has order 28 and a seventh order 8.
///
/// Memory: some 3 states a column. Cost of `extrapolate`: as many operations on states.

#include <array>
#include <vector>

#include "popgrad/scalars/real.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::solving {

class GridPoints {
 public:
  /// Position as a share of the step, and the state there.
  struct Point {
    Real share;
    Vector<Real> x;
  };

  GridPoints();
  /// Forgets the columns of the step before.
  void clear();
  /// The state of column `column` after `substep` of its 2 `column` substeps.
  void add(int column, int substep, const Vector<Real>& x);
  /// The points, ascending, whose last two extrapolations differ by no more than `tolerance` in
  /// every component.
  [[nodiscard]] std::vector<Point> extrapolate(const Real& tolerance) const;

 private:
  struct Fraction {
    int part = 0, whole = 1;
    std::vector<Vector<Real>> states;  // of columns whole, 2 whole, ...
  };
  std::vector<Fraction> fractions_;  // ascending
};

}  // namespace popgrad::solving
