#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "solving/rosenbrock4_core.hpp"
#include "solving/stepper.hpp"

namespace popgrad::solving {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class Rosenbrock4 final : public Stepper<double> {
 public:
  Rosenbrock4(Field<double> field, const Tolerances<double>& tolerances)
      : field_(std::move(field)), tolerances_(tolerances) {}

  void start(const Vector<double>& x, const double& t, const double& step) override {
    x_ = x;
    x_old_ = x;
    next_ = x;
    slope_.resize(x.size());
    field_.rhs(x_, slope_, t);
    slope_old_ = slope_;
    t_ = t;
    t_old_ = t;
    step_ = step;
    const Index n = x.size();
    core_.emplace(
        static_cast<std::size_t>(n),
        [this, n](const double* at, double* dx, double now) {
          point_ = Eigen::Map<const Vector<double>>(at, n);
          image_.resize(n);
          field_.rhs(point_, image_, now);
          Eigen::Map<Vector<double>>(dx, n) = image_;
        },
        [this, n](const double* at, double* jacobian, double now, double* time_slope) {
          point_ = Eigen::Map<const Vector<double>>(at, n);
          Eigen::Map<Vector<double>> in_time(time_slope, n);
          if (field_.jacobian) {
            // Rungs that have a Jacobian are autonomous.
            field_.jacobian(point_, matrix_, now);
            in_time.setZero();
          } else {
            by_differences(now);
            in_time = slope_in_time_;
          }
          Eigen::Map<RowMajor>(jacobian, n, n) = matrix_;
        },
        tolerances_.absolute, tolerances_.relative);
  }

  bool try_step(const double& largest) override {
    double t = t_;
    const bool cut = largest < step_;
    const double tried = cut ? largest : step_;
    double step = tried;
    const bool accepted = core_->try_step(x_.data(), t, next_.data(), step) && next_.allFinite();
    if (!accepted) {
      // A step into NaN has no error estimate to go by: halve.
      step_ = step < tried ? step : tried / 2;
      return false;
    }
    if (!(cut && step < step_)) step_ = step;
    x_old_ = x_;
    slope_old_ = slope_;
    t_old_ = t_;
    x_ = next_;
    t_ = t;
    field_.rhs(x_, slope_, t_);
    return true;
  }

  // A shorter step of the same method: its error is below that of the accepted one.
  void at(const double& t, Vector<double>& x) override {
    if (!(t_old_ < t)) {
      x = x_old_;  // a step of length 0 divides by it
      return;
    }
    x.resize(x_.size());
    core_->plain_step(x_old_.data(), t_old_, x.data(), t - t_old_);
  }

  // Hermite's cubic through both ends, whose error is of the order that the step is chosen by; a
  // step costs a Jacobian.
  void sketch_at(const double& t, Vector<double>& x) override {
    const double width = t_ - t_old_;
    const double u = (t - t_old_) / width;
    const double w = 1 - u;
    x = x_old_ * (w * w * (1 + 2 * u)) + x_ * (u * u * (1 + 2 * w)) +
        slope_old_ * (width * u * w * w) - slope_ * (width * u * u * w);
  }

  [[nodiscard]] const Vector<double>& x() const override { return x_; }
  [[nodiscard]] const Vector<double>& x_old() const override { return x_old_; }
  [[nodiscard]] const Vector<double>& slope() const override { return slope_; }
  [[nodiscard]] const Vector<double>& slope_old() const override { return slope_old_; }

 private:
  // Central differences, 2 n + 2 evaluations: truncation and rounding of some 1e-10 of the entries, which the
  // step multiplies by its own length twice.
  void by_differences(double now) {
    const Index n = point_.size();
    matrix_.resize(n, n);
    const double share = std::cbrt(std::numeric_limits<double>::epsilon());
    const auto slope_along = [&](double& number, double width) {
      const double middle = number;
      number = middle + width;
      const double ahead = number;
      field_.rhs(point_, image_, now_);
      above_ = image_;
      number = middle - width;
      field_.rhs(point_, image_, now_);
      const double apart = ahead - number;
      number = middle;
      return Vector<double>((above_ - image_) / apart);
    };
    image_.resize(n);
    now_ = now;
    for (Index j = 0; j < n; ++j) {
      matrix_.col(j) = slope_along(point_[j], share * (1 + std::fabs(point_[j])));
    }
    const double width = share * std::max(std::fabs(now), step_);
    slope_in_time_ = slope_along(now_, width);
  }

  Field<double> field_;
  Tolerances<double> tolerances_;
  std::optional<Rosenbrock4Core> core_;
  double now_ = 0;
  Vector<double> x_, x_old_, next_, slope_, slope_old_, point_, image_, above_, slope_in_time_;
  Matrix<double> matrix_;
};

}  // namespace

std::unique_ptr<Stepper<double>> make_rosenbrock4(const Field<double>& field,
                                                  const Tolerances<double>& tolerances) {
  return std::make_unique<Rosenbrock4>(field, tolerances);
}

}  // namespace popgrad::solving
