#pragma once
/// What the explicit methods share: the state and the slope at both ends of the last step.

#include <utility>

#include "solving/stepper.hpp"

namespace popgrad::solving {

/// The two ends of the last step, swapped rather than copied when a step is accepted.
template <class T>
class TwoEndedStepper : public Stepper<T> {
 public:
  explicit TwoEndedStepper(Field<T> field) : field_(std::move(field)) {}

  void start(const Vector<T>& x, const T& t, const T& step) override {
    place(x, t, step);
    slope_.resize(x.size());
    field_.rhs(x_, slope_, t);
    slope_old_ = slope_;
  }
  [[nodiscard]] const Vector<T>& x() const override { return x_; }
  [[nodiscard]] const Vector<T>& x_old() const override { return x_old_; }
  [[nodiscard]] const Vector<T>& slope() const override { return slope_; }
  [[nodiscard]] const Vector<T>& slope_old() const override { return slope_old_; }

 protected:
  // `start` but for the slopes.
  void place(const Vector<T>& x, const T& t, const T& step) {
    x_ = x;
    x_old_ = x;
    this->t_ = t;
    this->t_old_ = t;
    this->step_ = step;
  }

  // x_old_ and slope_old_ hold the new end while a step is tried.
  void accept(const T& t_new) {
    x_.swap(x_old_);
    slope_.swap(slope_old_);
    this->t_old_ = this->t_;
    this->t_ = t_new;
  }

  Field<T> field_;
  Vector<T> x_, x_old_, slope_, slope_old_;
};

}  // namespace popgrad::solving
