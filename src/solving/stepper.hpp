#pragma once
/// One step of one method, and the solution anywhere inside the last step.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "popgrad/scalars/vector.hpp"
#include "popgrad/solving/solve.hpp"

namespace popgrad::solving {

/// The field that a stepper sees; may be in another clock than the rung's.
template <class T>
struct Field {
  std::function<void(const Vector<T>&, Vector<T>&, const T&)> rhs;
  std::function<void(const Vector<T>&, Matrix<T>&, const T&)> jacobian;  ///< may be empty
  FieldInDouble in_double;  ///< of a field in digits; may be empty
};

template <class T>
struct Tolerances {
  T relative;
  T absolute;
};

template <class T>
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Forgets the past.
  virtual void start(const Vector<T>& x, const T& t, const T& step) = 0;
  /// Tries one step no larger than `largest`; false if it was rejected (the step is then smaller).
  virtual bool try_step(const T& largest) = 0;
  /// The solution at t in [t_old(), t()], to the accuracy of the method.
  virtual void at(const T& t, Vector<T>& x) = 0;
  /// The same as far as a search for signs and turns needs it, at little cost.
  virtual void sketch_at(const T& t, Vector<T>& x) { at(t, x); }
  /// Says that `inside` will be asked for after every step, so that what it needs is kept.
  virtual void keep_inside() {}
  /// Where inside the last step to look for signs and turns, ascending; empty: at evenly spaced times.
  [[nodiscard]] virtual std::span<const T> inside() { return {}; }

  [[nodiscard]] virtual const Vector<T>& x() const = 0;
  [[nodiscard]] virtual const Vector<T>& x_old() const = 0;
  /// The field at x().
  [[nodiscard]] virtual const Vector<T>& slope() const = 0;
  [[nodiscard]] virtual const Vector<T>& slope_old() const = 0;

  [[nodiscard]] const T& t() const { return t_; }
  [[nodiscard]] const T& t_old() const { return t_old_; }
  [[nodiscard]] const T& next_step() const { return step_; }
  /// Puts the end of the last step exactly on `t` (it differed by rounding only).
  void snap_time(const T& t) { t_ = t; }

 protected:
  T t_{};
  T t_old_{};
  T step_{};
};

template <class T>
std::unique_ptr<Stepper<T>> make_dopri5(const Field<T>& field, const Tolerances<T>& tolerances);
template <class T>
std::unique_ptr<Stepper<T>> make_bulirsch_stoer(const Field<T>& field,
                                                const Tolerances<T>& tolerances);
/// Double only: its order of 4 would need millions of steps for many digits. Without a Jacobian of the field
/// it takes differences, 2 n + 2 evaluations a step.
std::unique_ptr<Stepper<double>> make_rosenbrock4(const Field<double>& field,
                                                  const Tolerances<double>& tolerances);

}  // namespace popgrad::solving
