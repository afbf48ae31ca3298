// The rung `attended`: attention also scales what phi' is taken at.

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/rungs/activation.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace attended_test {

using namespace popgrad;
using namespace popgrad::joma;

namespace {

ReducedInstance<double> near_target(bool nonlinear) {
  ReducedInstance<double> instance;
  instance.target = Matrix<double>{{1.5, -0.7}, {2.5, 0.4}};  // two tokens, two units
  instance.nonlinear = nonlinear;
  instance.start = Matrix<double>{{0.3, 0.1}, {-0.2, 0.6}};
  instance.logits = Vector<double>::Zero(2);
  instance.tau = 3;
  return instance;
}

Vector<double> field(const ReducedInstance<double>& instance) {
  const ReducedFlow<double> flow(instance);
  Vector<double> rate(flow.dimension());
  flow.rhs(flow.initial(), rate, 0.0);
  return rate;
}

}  // namespace

TEST_CASE("attended: the field is a o (mu - a o v), and that of reduced for linear phi", "[joma]") {
  ReducedInstance<double> instance = near_target(true);
  instance.attended = true;
  const Vector<double> rate = field(instance);
  for (Index k = 0; k < 2; ++k) {
    for (Index l = 0; l < 2; ++l) {
      const double a = std::exp(instance.start.row(l).squaredNorm() / instance.tau);
      const double expected = a * (instance.target(l, k) - a * instance.start(l, k));
      CHECK(rate[l + 2 * k] == Approx(expected).epsilon(1e-15));
    }
  }
  instance.nonlinear = false;
  const Vector<double> linear = field(instance);
  instance.attended = false;
  CHECK(linear == field(instance));
}

TEST_CASE("attended: ends where Lambert's function says, at that rate", "[joma]") {
  for (const double tau : {0.9, 2.0, 5.0}) {
    for (const double mu : {-1.2, 0.4, 2.5}) {
      const double v = attended_fixed_point(mu, tau);
      CHECK(v * std::exp(v * v / tau) == Approx(mu).epsilon(1e-14));
      ReducedInstance<Dual<double>> instance;
      instance.target = Matrix<Dual<double>>::Constant(1, 1, Dual<double>(mu));
      instance.start = Matrix<Dual<double>>::Constant(1, 1, Dual<double>(v, 1.0));
      instance.logits = Vector<Dual<double>>::Constant(1, Dual<double>(0.0));
      instance.nonlinear = true;
      instance.attended = true;
      instance.tau = Dual<double>(tau);
      const ReducedFlow<Dual<double>> flow(instance);
      Vector<Dual<double>> rate(1);
      flow.rhs(flow.initial(), rate, Dual<double>(0.0));
      CHECK(std::fabs(rate[0].value) < 1e-14 * attended_rate(mu, tau));
      CHECK(-rate[0].slope == Approx(attended_rate(mu, tau)).epsilon(1e-13));
    }
  }
  CHECK(attended_fixed_point(0.0, 2.0) == 0);
  // The ratio of the logarithms at mu = 2.5, 1.5 that Eqn 10 puts at e^2 = 7.39.
  CHECK(attended_rate(2.5, 2.0) / attended_rate(1.5, 2.0) == Approx(2.229).epsilon(1e-3));
}

TEST_CASE("attended: the closed forms in many digits", "[joma]") {
  const DigitsScope digits(60);
  const Real v = attended_fixed_point(Real("2.5"), Real(2));
  using std::exp;
  CHECK(to_double(Real(abs(Real(v * exp(Real(v * v / 2)) - Real("2.5"))))) < 1e-57);
}

TEST_CASE("tanh neither overflows nor loses its slope", "[joma]") {
  for (const double h : {-800.0, -3.0, -0.1, 0.0, 0.2, 2.0, 800.0}) {
    CHECK(activate(Activation::tanh, h) == Approx(std::tanh(h)).margin(1e-15));
    const double cosh = std::cosh(std::fmin(std::fabs(h), 300));
    CHECK(activation_slope(Activation::tanh, h) == Approx(1 / (cosh * cosh)).margin(1e-15));
  }
}

}  // namespace attended_test
