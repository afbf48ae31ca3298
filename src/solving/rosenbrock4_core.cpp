#include "solving/rosenbrock4_core.hpp"

#include <algorithm>
#include <boost/numeric/odeint/stepper/rosenbrock4.hpp>
#include <boost/numeric/odeint/stepper/rosenbrock4_controller.hpp>
#include <utility>
#include <vector>

namespace popgrad::solving {
namespace {

namespace odeint = boost::numeric::odeint;
using UblasVector = boost::numeric::ublas::vector<double>;
using UblasMatrix = boost::numeric::ublas::matrix<double>;

/// Boost 1.74 has d4 with the other sign, which takes order 4 down to 1 for fields in time (RODAS of Hairer and
/// Wanner, Solving ODEs II, IV.7).
struct Coefficients : odeint::default_rosenbrock_coefficients<double> {
  const double d4 = -0.3620000000000023e-01;
};
using Plain = odeint::rosenbrock4<double, Coefficients>;

}  // namespace

struct Rosenbrock4Core::Implementation {
  struct RightOf {
    const Right* right;
    void operator()(const UblasVector& x, UblasVector& dx, double t) const {
      (*right)(&x[0], &dx[0], t);
    }
  };
  struct JacobianOf {
    const Jacobian* jacobian;
    void operator()(const UblasVector& x, UblasMatrix& matrix, const double& t,
                    UblasVector& dfdt) const {
      (*jacobian)(&x[0], &matrix.data()[0], t, &dfdt[0]);
    }
  };

  Right right;
  Jacobian jacobian;
  odeint::rosenbrock4_controller<Plain> controlled;
  Plain plain;
  UblasVector from, to;

  Implementation(std::size_t n, Right f, Jacobian df, double absolute, double relative)
      : right(std::move(f)),
        jacobian(std::move(df)),
        controlled(absolute, relative),
        from(n),
        to(n) {}
  std::pair<RightOf, JacobianOf> system() const { return {RightOf{&right}, JacobianOf{&jacobian}}; }
};

Rosenbrock4Core::Rosenbrock4Core(std::size_t n, Right right, Jacobian jacobian,
                                 double absolute_tolerance, double relative_tolerance)
    : implementation_(std::make_unique<Implementation>(n, std::move(right), std::move(jacobian),
                                                       absolute_tolerance, relative_tolerance)) {}

Rosenbrock4Core::~Rosenbrock4Core() = default;

bool Rosenbrock4Core::try_step(const double* x, double& t, double* out, double& step) {
  Implementation& my = *implementation_;
  std::copy(x, x + my.from.size(), my.from.begin());
  const bool accepted =
      my.controlled.try_step(my.system(), my.from, t, my.to, step) == odeint::success;
  std::copy(my.to.begin(), my.to.end(), out);
  return accepted;
}

void Rosenbrock4Core::plain_step(const double* x, double t, double* out, double step) {
  Implementation& my = *implementation_;
  std::copy(x, x + my.from.size(), my.from.begin());
  my.plain.do_step(my.system(), my.from, t, my.to, step);
  std::copy(my.to.begin(), my.to.end(), out);
}

}  // namespace popgrad::solving
