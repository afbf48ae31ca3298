#include <boost/numeric/odeint/stepper/rosenbrock4.hpp>
#include <boost/numeric/odeint/stepper/rosenbrock4_controller.hpp>
#include <cmath>
#include <optional>
#include <utility>

#include "solve/stepper.hpp"

namespace popgrad::solving {
namespace {

namespace odeint = boost::numeric::odeint;
using UblasVector = boost::numeric::ublas::vector<double>;
using UblasMatrix = boost::numeric::ublas::matrix<double>;

void copy(const Vector<double>& from, UblasVector& to) {
  to.resize(static_cast<std::size_t>(from.size()), false);
  std::copy(from.begin(), from.end(), to.begin());
}

void copy(const UblasVector& from, Vector<double>& to) {
  to.resize(static_cast<Index>(from.size()));
  std::copy(from.begin(), from.end(), to.begin());
}

class Rosenbrock4 final : public Stepper<double> {
  using Plain = odeint::rosenbrock4<double>;
  using Controlled = odeint::rosenbrock4_controller<Plain>;

 public:
  Rosenbrock4(Field<double> field, const Tolerances<double>& tolerances)
      : field_(std::move(field)),
        tolerances_(tolerances),
        controlled_(std::in_place, tolerances.absolute, tolerances.relative) {}

  void start(const Vector<double>& x, const double& t, const double& step) override {
    x_ = x;
    x_old_ = x;
    slope_.resize(x.size());
    field_.rhs(x_, slope_, t);
    slope_old_ = slope_;
    t_ = t;
    t_old_ = t;
    step_ = step;
    controlled_.emplace(tolerances_.absolute, tolerances_.relative);
  }

  bool try_step(const double& largest) override {
    double t = t_;
    const bool cut = largest < step_;
    const double tried = cut ? largest : step_;
    double step = tried;
    copy(x_, from_);
    const bool accepted =
        controlled_->try_step(system(), from_, t, to_, step) == odeint::success &&
        std::all_of(to_.begin(), to_.end(), [](double value) { return std::isfinite(value); });
    if (!accepted) {
      // A step into NaN has no error estimate to go by: halve.
      step_ = step < tried ? step : tried / 2;
      return false;
    }
    if (!(cut && step < step_)) step_ = step;
    x_old_ = x_;
    slope_old_ = slope_;
    t_old_ = t_;
    copy(to_, x_);
    t_ = t;
    field_.rhs(x_, slope_, t_);
    return true;
  }

  // A shorter step of the same method: its error is below that of the accepted one.
  void at(const double& t, Vector<double>& x) override {
    Plain shorter;
    copy(x_old_, from_);
    shorter.do_step(system(), from_, t_old_, to_, t - t_old_);
    copy(to_, x);
  }

  [[nodiscard]] const Vector<double>& x() const override { return x_; }
  [[nodiscard]] const Vector<double>& x_old() const override { return x_old_; }
  [[nodiscard]] const Vector<double>& slope() const override { return slope_; }
  [[nodiscard]] const Vector<double>& slope_old() const override { return slope_old_; }

 private:
  struct Right {
    Rosenbrock4* self;
    void operator()(const UblasVector& x, UblasVector& dx, double t) const {
      copy(x, self->point_);
      self->field_.rhs(self->point_, self->image_, t);
      copy(self->image_, dx);
    }
  };
  struct Derivative {
    Rosenbrock4* self;
    void operator()(const UblasVector& x, UblasMatrix& jacobian, const double& t,
                    UblasVector& dfdt) const {
      copy(x, self->point_);
      self->field_.jacobian(self->point_, self->matrix_, t);
      const Index n = self->matrix_.rows();
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
          jacobian(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) = self->matrix_(i, j);
        }
      }
      // Every rung is autonomous; a field with its own time would put df/dt here.
      std::fill(dfdt.begin(), dfdt.end(), 0.0);
    }
  };
  std::pair<Right, Derivative> system() {
    image_.resize(x_.size());
    return {Right{this}, Derivative{this}};
  }

  Field<double> field_;
  Tolerances<double> tolerances_;
  std::optional<Controlled> controlled_;
  Vector<double> x_, x_old_, slope_, slope_old_, point_, image_;
  Matrix<double> matrix_;
  UblasVector from_, to_;
};

}  // namespace

std::unique_ptr<Stepper<double>> make_rosenbrock4(const Field<double>& field,
                                                  const Tolerances<double>& tolerances) {
  return std::make_unique<Rosenbrock4>(field, tolerances);
}

}  // namespace popgrad::solving
