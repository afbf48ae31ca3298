#pragma once
/// The solution inside a step of many digits, to the twelve digits that signs and rows need, in double.
///
/// A field in double costs a hundredth of one in digits, so that looking at a dozen times inside a step of
/// a thousand evaluations adds a hundredth to it, where going to them in digits adds a third.
///
/// Where a step changes the state by little, its change is lost in the rounding of doubles, and with it the
/// sign of a rate: such steps are not for it. Where double overflows, nothing is said.

#include <cstddef>
#include <memory>
#include <vector>

#include "popgrad/scalars/real.hpp"
#include "solving/stepper.hpp"

namespace popgrad::solving {

class DoubleSketch {
 public:
  /// Without a field nothing is ever said.
  explicit DoubleSketch(FieldInDouble field);
  DoubleSketch(const DoubleSketch&) = delete;  // the stepper refers to the field
  DoubleSketch& operator=(const DoubleSketch&) = delete;

  /// Nothing is said until the next step.
  void clear() { known_.clear(); }
  /// The step that is looked at: from x_old at t_old to t.
  void begin(const Vector<Real>& x_old, const Real& t_old, const Real& t);
  /// The state at t, which lies in the step; false for nothing to say. The first look at a time costs some
  /// 50 evaluations in double.
  bool at(const Real& t, Vector<Real>& x);

 private:
  struct Point {
    double gone = 0;  // since t_old
    Vector<double> x;
  };
  // The steps from the last known point before to `gone`; null where they do not get there.
  const Point* reach(double gone);

  FieldInDouble field_;
  std::unique_ptr<Stepper<double>> stepper_;
  Real t_old_;
  double begin_ = 0, step_ = 0;
  bool begun_ = false;        // the stepper is inside this step
  std::vector<Point> known_;  // ascending; empty where nothing is said
};

}  // namespace popgrad::solving
