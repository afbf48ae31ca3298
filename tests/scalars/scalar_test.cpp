#include "popgrad/scalars/scalar.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/scalars/all.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/identity.hpp"
#include "theorems/joma/rungs/latent_tree.hpp"

namespace scalar_test {

using namespace popgrad;

TEST_CASE("scalars read decimals and quotients exactly", "[scalar]") {
  CHECK(from_text<Rational>("-12.5e-3") == Rational(-1) / Rational(80));
  CHECK(from_text<Rational>("3/12") == Rational(1) / Rational(4));
  CHECK(from_text<double>("0.1") == 0.1);
  CHECK(vanishes(from_text<Expression>("0.05") - Expression(1) / 20) == Truth::yes);
  CHECK(contains(from_text<Interval>("0.1"), "1/10"));
  const DigitsScope scope(50);
  CHECK(abs(from_text<Real>("0.1") * 10 - 1) < Real("1e-49"));
  CHECK(to_text(from_text<Real>("1/3")).substr(0, 42) ==
        "0.3333333333333333333333333333333333333333");
}

TEST_CASE("scalars refuse what is not a finite number", "[scalar]") {
  for (const char* text : {"", "1e", "nan", "inf", "0x1", "1/0", "1 2", "--1", "1e999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(from_text<double>(text), std::invalid_argument);
    CHECK_THROWS_AS(from_text<Rational>(text), std::invalid_argument);
  }
  CHECK_THROWS_WITH(from_text<double>("1e400"), Catch::Contains("--digits"));
}

TEST_CASE("intervals contain the value in fifty digits", "[scalar]") {
  const DigitsScope scope(50);
  const Interval x = from_text<Interval>("0.7");
  const Real y = from_text<Real>("0.7");
  CHECK(contains(error_function(x), to_text(Real(error_function(y)))));
  CHECK(lower_double(exp(x)) <= to_double(Real(exp(y))));
  CHECK(upper_double(exp(x)) >= to_double(Real(exp(y))));
  // An unknown sign is said, not guessed.
  const Interval either = make_interval("-1", "1");
  CHECK(less(Interval(0), either) == Truth::undecided);
  CHECK(less(Interval(0), x) == Truth::yes);
  const Interval hull = where_positive(either, Interval(2), Interval(-3));
  CHECK(contains(hull, "2"));
  CHECK(contains(hull, "-3"));
}

TEST_CASE("symbols leave conditions undecided", "[scalar]") {
  const Expression x = symbol("x");
  CHECK(less(Expression(0), x) == Truth::undecided);
  CHECK(less(Expression(0), Expression(2)) == Truth::yes);
  CHECK(vanishes(x - x) == Truth::yes);
  CHECK(vanishes(x * x - 1) == Truth::no);
  const Expression slope = error_function(x).diff(GiNaC::ex_to<GiNaC::symbol>(x));
  CHECK(vanishes(slope - 2 * GiNaC::exp(-x * x) / GiNaC::sqrt(GiNaC::Pi)) == Truth::yes);
  // Undecided: a step function, which is right once the symbol has a value.
  const Expression branch = where_positive<Expression>(x, 2 * x, 5);
  CHECK(to_double(Expression(branch.subs(x == 3))) == 6);
  CHECK(to_double(Expression(branch.subs(x == -3))) == 5);
}

TEST_CASE("expressions are printed in one order in four notations", "[scalar]") {
  const GiNaC::symbol v("v_0", "v_{0}"), mu("mu", "\\mu"), tau("tau", "\\tau"), x("x");
  const Expression rate = -(v - mu) * GiNaC::exp(GiNaC::pow(v, 2) / tau);
  CHECK(to_text(rate) == "exp(v_0^2/tau)*(mu - v_0)");
  CHECK(to_text(rate, Notation::python) == "exp(v_0**2/tau)*(mu - v_0)");
  CHECK(to_text(rate, Notation::cpp) == "exp(pow(v_0, 2.0)/tau)*(mu - v_0)");
  CHECK(to_text(rate, Notation::latex) ==
        "\\exp\\left(\\frac{{v_{0}}^{2}}{\\tau}\\right) \\left(\\mu - v_{0}\\right)");
  CHECK(to_text(Expression(1) / 2, Notation::cpp) == "1.0/2.0");
  CHECK(to_text(-x / GiNaC::sqrt(x + mu)) == "-x/sqrt(mu + x)");
  CHECK(to_text(GiNaC::pow(x, -tau) - 3) == "x^(-tau) - 3");
  CHECK(to_text(GiNaC::pow(x - mu, Expression(2) / 3)) == "(x - mu)^(2/3)");
  CHECK(to_text(GiNaC::step(x) * GiNaC::Pi, Notation::cpp) == "(x > 0 ? 1.0 : 0.0)*pi");

  CHECK(to_text(v / GiNaC::pow(x - mu, 3)) == "-v_0/(mu - x)^3");
  CHECK(to_text(v * GiNaC::pow(x - mu, 2)) == "(mu - x)^2*v_0");

  // GiNaC reads it back as the same expression, however deep.
  const std::vector<Expression> cases{
      rate,
      2 * v / 3 - mu * GiNaC::pow(x, -2) / 5,
      (v - 1) / (2 * tau * (x - mu)),
      -(x + v) * (x - v) / (1 - GiNaC::exp(-x)) - Expression(7) / 4,
      GiNaC::pow(1 + GiNaC::pow(2 + x, -3), Expression(-3) / 2) * (v - GiNaC::tanh(mu - x)),
      GiNaC::sqrt(2 * GiNaC::Pi) / (3 * GiNaC::sqrt(x)) - 2 * GiNaC::pow(-x, Expression(1) / 3),
  };
  GiNaC::symtab names;
  for (const GiNaC::symbol& symbol : {v, mu, tau, x}) names[symbol.get_name()] = symbol;
  GiNaC::parser read(names);
  for (const Expression& each : cases) {
    CAPTURE(to_text(each));
    CHECK((read(to_text(each)) - each).expand().is_zero());
  }
}

TEMPLATE_TEST_CASE("dual numbers carry the derivative", "[scalar]", double, Real) {
  const DigitsScope scope(40);
  const Dual<TestType> x(TestType(3) / TestType(4), TestType(1));
  const TestType v = x.value;
  using std::abs, std::exp, std::log, std::sqrt;
  // A few units in the last place of order-1 numbers.
  const TestType tiny = TestType(10) * machine_epsilon<TestType>();
  CHECK(abs(exp(x * x).slope - 2 * v * exp(TestType(v * v))) < tiny);
  CHECK(abs(log(x).slope - 1 / v) < tiny);
  CHECK(abs(sqrt(x).slope - 1 / (2 * sqrt(v))) < tiny);
  CHECK(abs((x / (x + Dual<TestType>(1))).slope - 1 / ((1 + v) * (1 + v))) < tiny);
  CHECK(abs(error_function(x).slope - 2 / sqrt(pi<TestType>()) * exp(TestType(-v * v))) < tiny);
}

TEMPLATE_LIST_TEST_CASE("one formula runs on every scalar", "[scalar][law]", AllScalars) {
  // A rational formula: the co-occurrence of Theorem 5 at L = 3, H = 2, rho = 3/5, polarity 1/2.
  joma::LatentTree<TestType> tree;
  tree.depth = 3;
  tree.rho = from_text<TestType>("3/5");
  tree.class_law = {TestType(1)};
  tree.class_polarity = {from_text<TestType>("0.5")};
  // (1 + 81/625 - 9/25) / (2 (1 - 9/50)) = 481/1025, by hand.
  const double expected = 481.0 / 1025.0;
  CHECK(to_double(joma::cooccurrence_formula(tree, 2)) == Approx(expected).epsilon(1e-15));
  CHECK(to_double(joma::cooccurrence_by_summation(tree, 2)) == Approx(expected).epsilon(1e-14));
}

}  // namespace scalar_test
