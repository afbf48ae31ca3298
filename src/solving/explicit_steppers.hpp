#pragma once
/// Dormand-Prince and Bulirsch-Stoer over Odeint's controlled steppers.

#include <boost/numeric/odeint/stepper/bulirsch_stoer.hpp>
#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <utility>
#include <vector>

#include "solving/algebra.hpp"
#include "solving/stepper.hpp"
#include "solving/two_ended_stepper.hpp"

namespace popgrad::solving {

namespace odeint = boost::numeric::odeint;

template <class T>
class Dopri5 final : public TwoEndedStepper<T> {
  using Plain = odeint::runge_kutta_dopri5<Vector<T>, T, Vector<T>, T, VectorAlgebra>;
  using Checker = odeint::default_error_checker<T, VectorAlgebra, odeint::default_operations>;
  using Adjuster = odeint::default_step_adjuster<T, T>;
  using Controlled = odeint::controlled_runge_kutta<Plain, Checker, Adjuster>;

 public:
  Dopri5(Field<T> field, const Tolerances<T>& tolerances)
      : TwoEndedStepper<T>(std::move(field)),
        controlled_(Checker(tolerances.absolute, tolerances.relative)) {}

  void start(const Vector<T>& x, const T& t, const T& step) override {
    TwoEndedStepper<T>::start(x, t, step);
    controlled_.reset();
  }

  bool try_step(const T& largest) override {
    T t = this->t_;
    const bool cut = largest < this->step_;
    T step = cut ? largest : this->step_;
    const bool accepted =
        controlled_.try_step(std::cref(this->field_.rhs), this->x_, this->slope_, t, this->x_old_,
                             this->slope_old_, step) == odeint::success;
    // A step cut short to meet an end must not make the next one small.
    if (!(accepted && cut && step < this->step_)) this->step_ = step;
    if (accepted) this->accept(t);
    return accepted;
  }

  void at(const T& t, Vector<T>& x) override {
    x.resize(this->x_.size());
    controlled_.stepper().calc_state(t, x, this->x_old_, this->slope_old_, this->t_old_, this->x_,
                                     this->slope_, this->t_);
  }

 private:
  Controlled controlled_;
};

template <class T>
class BulirschStoer final : public TwoEndedStepper<T> {
  using Controlled = odeint::bulirsch_stoer<Vector<T>, T, Vector<T>, T, VectorAlgebra>;

 public:
  BulirschStoer(Field<T> field, const Tolerances<T>& tolerances)
      : TwoEndedStepper<T>(std::move(field)),
        tolerances_(tolerances),
        controlled_(tolerances.absolute, tolerances.relative) {}

  void start(const Vector<T>& x, const T& t, const T& step) override {
    TwoEndedStepper<T>::start(x, t, step);
    controlled_ = Controlled(tolerances_.absolute, tolerances_.relative);
    known_.clear();
  }

  bool try_step(const T& largest) override {
    T t = this->t_;
    const bool cut = largest < this->step_;
    T step = cut ? largest : this->step_;
    const bool accepted = controlled_.try_step(std::cref(this->field_.rhs), this->x_, this->slope_,
                                               t, this->x_old_, step) == odeint::success;
    if (!(accepted && cut && step < this->step_)) this->step_ = step;
    if (accepted) {
      this->field_.rhs(this->x_old_, this->slope_old_, t);
      this->accept(t);
      known_.clear();
    }
    return accepted;
  }

  // Its steps are so long that a cubic through their ends has other turns than the solution.
  void sketch_at(const T& t, Vector<T>& x) override {
    at(t, x);
    known_.push_back({t, x});
  }

  // Extrapolation has no cheap interpolant of its own order, so the step is taken again, shorter, from the
  // last place before that was sketched.
  void at(const T& t, Vector<T>& x) override {
    x = this->x_old_;
    T now = this->t_old_;
    for (const auto& [time, state] : known_) {
      if (time > t) break;
      now = time;
      x = state;
    }
    if (!(now < t)) return;
    Controlled inner(tolerances_.absolute, tolerances_.relative);
    T step = t - now;
    while (now < t) {
      if (t - now < step) step = t - now;
      const T last = now;
      if (inner.try_step(std::cref(this->field_.rhs), x, now, step) == odeint::success &&
          t - now <= machine_epsilon<T>() * (t - last)) {
        break;
      }
    }
  }

 private:
  Tolerances<T> tolerances_;
  Controlled controlled_;
  std::vector<std::pair<T, Vector<T>>> known_;  // inside the last step, ascending
};

template <class T>
std::unique_ptr<Stepper<T>> make_dopri5(const Field<T>& field, const Tolerances<T>& tolerances) {
  return std::make_unique<Dopri5<T>>(field, tolerances);
}

template <class T>
std::unique_ptr<Stepper<T>> make_bulirsch_stoer(const Field<T>& field,
                                                const Tolerances<T>& tolerances) {
  return std::make_unique<BulirschStoer<T>>(field, tolerances);
}

}  // namespace popgrad::solving
