#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/rungs/regime.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/identity.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/latent_tree.hpp"
#include "theorems/joma/rungs/population_flow.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"
#include "theorems/joma/rungs/stationary_flow.hpp"

namespace rungs_test {

using namespace popgrad;
using namespace popgrad::joma;

namespace {

ClassInstance<double> instance_of(Attention attention, Activation phi, bool residual,
                                  bool normalise) {
  Parameters p("joma",
               {{"X", {{"0.5", "0.2", "0.1"}, {"0.3", "0.5", "0.2"}, {"0.2", "0.3", "0.7"}}},
                {"scale", "0.7"},
                {"units", "4"}});
  p.set("attention", attention == Attention::exp       ? "exp"
                     : attention == Attention::softmax ? "softmax"
                                                       : "linear");
  p.set("phi", phi == Activation::linear ? "linear"
               : phi == Activation::relu ? "relu"
               : phi == Activation::tanh ? "tanh"
                                         : "gelu");
  p.set("residual", residual);
  p.set("normalise", normalise);
  p.set("z0", {"0.3", "-0.2", "0.4"});
  p.set("temperature", "0.8");
  return class_instance<double>(p, 11);
}

ReducedInstance<double> reduced_of(std::vector<double> target, bool nonlinear, double start) {
  ReducedInstance<double> instance;
  const auto d = static_cast<Index>(target.size());
  instance.target = Eigen::Map<const Vector<double>>(target.data(), d);
  instance.nonlinear = nonlinear;
  instance.start = Matrix<double>::Constant(d, 1, start);
  instance.logits = Vector<double>::Zero(d);
  return instance;
}

}  // namespace

TEST_CASE("population flow: what is observed by itself is what is observed with all", "[joma]") {
  const PopulationFlow<double> flow(instance_of(Attention::exp, Activation::linear, true, false));
  const Vector<double> x = flow.initial();
  const std::size_t count = flow.columns().size();
  std::vector<double> all(count);
  flow.observe(x, 0.0, all);
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<bool> wanted(count, false);
    wanted[k] = true;
    std::vector<double> row(count, -7.0);
    flow.observe_some(x, 0.0, row, wanted);
    CHECK(row[k] == all[k]);
  }
  // At steps a solve asks for the loss only.
  SolveRequest<double> request;
  request.end = 3;
  request.save_at = {3};
  request.relative_tolerance = request.absolute_tolerance = 1e-8;
  request.observe_steps = true;
  const Trajectory<double> full = solve(forget_type(flow), request);
  request.step_columns = columns_of_regimes(
      flow.columns(), std::vector<Regime>{{"plateau", "l*", RegimeKind::plateau}});
  CHECK(std::count(request.step_columns.begin(), request.step_columns.end(), true) == 1);
  const Trajectory<double> some = solve(forget_type(flow), request);
  REQUIRE(some.step_rows.size() == full.step_rows.size());
  REQUIRE(some.step_rows.size() > 20);
  for (std::size_t r = 0; r < some.step_rows.size(); ++r) {
    CHECK(some.step_rows[r][5] == full.step_rows[r][5]);
    CHECK(std::isnan(some.step_rows[r][4]));
  }
  CHECK(some.rows == full.rows);
}

TEST_CASE("population flow descends its loss", "[joma][law]") {
  for (const Attention attention : {Attention::exp, Attention::softmax, Attention::linear}) {
    for (const Activation phi :
         {Activation::linear, Activation::relu, Activation::gelu, Activation::tanh}) {
      for (const bool residual : {true, false}) {
        for (const bool normalise : {true, false}) {
          const PopulationFlow<double> flow(instance_of(attention, phi, residual, normalise));
          const Vector<double> x = flow.initial();
          Vector<double> field(x.size());
          flow.rhs(x, field, 0.0);
          for (Index i = 0; i < x.size(); ++i) {
            // Central differences: truncation h^2 = 1e-10, rounding eps/h = 1e-11.
            constexpr double h = 1e-5;
            Vector<double> ahead = x;
            Vector<double> behind = x;
            ahead[i] += h;
            behind[i] -= h;
            const double slope = (flow.loss(ahead) - flow.loss(behind)) / (2 * h);
            CAPTURE(static_cast<int>(attention), static_cast<int>(phi), residual, normalise, i);
            CHECK(field[i] == Approx(-slope).margin(1e-8));
          }
        }
      }
    }
  }
}

TEST_CASE("population flow: double agrees with fifty digits, dual numbers with differences",
          "[joma][law]") {
  const ClassInstance<double> instance =
      instance_of(Attention::softmax, Activation::gelu, true, true);
  const PopulationFlow<double> flow(instance);
  const Vector<double> x = flow.initial();
  Vector<double> field(x.size());
  flow.rhs(x, field, 0.0);
  const DigitsScope scope(50);
  const PopulationFlow<Real> precise(instance.cast<Real>());
  Vector<Real> reference(x.size());
  precise.rhs(x.cast<Real>(), reference, Real(0));
  for (Index i = 0; i < x.size(); ++i) {
    CHECK(field[i] == Approx(to_double(reference[i])).margin(1e-14));
  }
  const AnyRung<double> rung = forget_type(flow);
  Matrix<double> jacobian;
  rung.field.jacobian(x, jacobian, 0.0);
  Vector<double> ahead(x.size());
  Vector<double> behind(x.size());
  for (Index j = 0; j < x.size(); ++j) {
    Vector<double> moved = x;
    moved[j] += 1e-5;
    rung.field.value(moved, ahead, 0.0);
    moved[j] -= 2e-5;
    rung.field.value(moved, behind, 0.0);
    CHECK((jacobian.col(j) - (ahead - behind) / 2e-5).norm() < 1e-8);
  }
}

TEST_CASE("reduced flow: symbols evaluated at a point give the double", "[joma][law]") {
  const ReducedInstance<double> instance = reduced_of({1.0, 2.0, 3.0}, true, 0.05);
  for (const Attention attention : {Attention::exp, Attention::softmax}) {
    ReducedInstance<double> numbers = instance;
    numbers.attention = attention;
    const ReducedFlow<double> flow(numbers);
    Vector<double> field(3);
    flow.rhs(flow.initial(), field, 0.0);
    ReducedInstance<Expression> symbolic;
    symbolic.nonlinear = true;
    symbolic.attention = attention;
    symbolic.target = symbols("mu", 3, 1);
    symbolic.start = symbols("v", 3, 1);
    symbolic.tau = Expression(2);
    const ReducedFlow<Expression> on_symbols(symbolic);
    Vector<Expression> rate(3);
    on_symbols.rhs(on_symbols.initial(), rate, Expression(0));
    GiNaC::exmap point;
    for (Index l = 0; l < 3; ++l) {
      point[symbolic.target(l, 0)] = Expression(static_cast<int>(l) + 1);
      point[symbolic.start(l, 0)] = Expression(1) / 20;
    }
    for (Index l = 0; l < 3; ++l) {
      CHECK(to_double(Expression(rate[l].subs(point))) == Approx(field[l]).epsilon(1e-14));
    }
  }
}

TEST_CASE("stationary flow from zero follows the reduced flow (exp)", "[joma]") {
  ReducedInstance<double> instance = reduced_of({1.2, 0.7, 2.0}, true, 0.0);
  SolveRequest<double> request;
  request.end = 3.0;
  request.save_at = equally_spaced(0.0, 3.0, 7);
  request.relative_tolerance = 1e-11;
  request.absolute_tolerance = 1e-13;
  request.keep_states = true;
  const auto both = solve(forget_type(StationaryFlow<double>(instance)), request);
  const auto reduced = solve(forget_type(ReducedFlow<double>(instance)), request);
  for (std::size_t k = 0; k < both.t.size(); ++k) {
    // The invariant z = v^2/2 is kept to the tolerance of both solves.
    CHECK((both.states[k].head(3) - reduced.states[k]).norm() < 1e-8);
    CHECK(both.rows[k][1] < 1e-9);
  }
}

TEST_CASE("closed forms agree with integration", "[joma]") {
  struct Case {
    ReducedInstance<double> instance;
    double end;
  };
  ReducedInstance<double> linear_attention = reduced_of({0.5, -0.8, 0.3}, false, 0.1);
  linear_attention.attention = Attention::linear;
  linear_attention.logits = Vector<double>{{0.5, 0.4, 0.1}};
  for (const Case& c :
       {Case{reduced_of({1.0, 2.0, 3.0}, true, 0.05), 5.0},
        Case{reduced_of({1.0, 2.0, -0.5}, false, 0.1), 0.5}, Case{linear_attention, 3.0}}) {
    SolveRequest<double> request;
    request.end = c.end;
    request.save_at = equally_spaced(0.0, c.end, 9);
    request.relative_tolerance = 1e-12;
    request.absolute_tolerance = 1e-14;
    request.keep_states = true;
    const auto run = solve(forget_type(ReducedFlow<double>(c.instance)), request);
    const AnyRung<double> closed = closed_form_rung(c.instance);
    REQUIRE(run.outcome.ending == Ending::reached_end);
    for (std::size_t k = 0; k < run.t.size(); ++k) {
      CHECK((run.states[k] - closed.field.state_at(run.t[k])).cwiseAbs().maxCoeff() < 1e-10);
    }
  }
  CHECK(blow_up_time(2.0, 0.0, 2.0) == Approx(std::sqrt(M_PI / 2) / 2).epsilon(1e-15));
  // sqrt(pi tau)/2 (1 -+ erf(1/2))/2 towards either side of a start.
  CHECK(blow_up_time(2.0, 1.0, 4.0) ==
        Approx(std::sqrt(M_PI) * (1 - std::erf(0.5)) / 2).epsilon(1e-14));
  CHECK(blow_up_time(-2.0, 1.0, 4.0) ==
        Approx(std::sqrt(M_PI) * (1 + std::erf(0.5)) / 2).epsilon(1e-14));
  // There and back; late the approach is ln(1/|delta|) = e^{mu^2/tau} t + C.
  for (const double start : {-0.5, 0.3, 3.0}) {
    constexpr double mu = 2, tau = 3, y = 30;
    CAPTURE(start);
    CHECK(time_to_approach(mu, start, tau, approach_at(mu, start, tau, 0.7)) ==
          Approx(0.7).epsilon(1e-13));
    const double late = y - std::log(std::fabs(1 - start / mu)) -
                        std::exp(mu * mu / tau) * time_to_approach(mu, start, tau, y);
    CHECK(approach_constant(mu, start, tau) == Approx(late).margin(1e-12));
  }
  const DigitsScope scope(50);
  CHECK(to_double(approach_at<Real>(Real(2), Real(0), Real(2), Real(1))) ==
        Approx(approach_at(2.0, 0.0, 2.0, 1.0)).epsilon(1e-13));
}

TEST_CASE(
    "closed forms in digits: what is left to the blow-up, from either side and far in the tail",
    "[joma]") {
  const DigitsScope digits(50);
  const Real tau = Real(3) / 7;
  for (const double start : {-40.0, -1.5, -1e-30, 0.0, 1e-30, 0.4, 9.0, 40.0}) {
    for (const double delta : {2.0, -2.0}) {
      CAPTURE(start, delta);
      const Real all = blow_up_time<Real>(Real(delta), Real(start), tau);
      for (const Real& part : {Real(1) / 1000000, Real(1) / 3, Real(1) - Real(1) / 1000000}) {
        const Real v = linear_phi_component<Real>(Real(delta), Real(start), tau, Real(all * part));
        const Real left = blow_up_time<Real>(Real(delta), v, tau) / all;
        CHECK(to_double(abs(Real(left - (Real(1) - part)))) < 1e-44);
      }
    }
  }
}

TEST_CASE("latent tree: formula, summation and brute force agree exactly", "[joma]") {
  LatentTree<Rational> tree;
  tree.depth = 3;
  tree.rho = from_text<Rational>("3/5");
  tree.class_law = {from_text<Rational>("1/3"), from_text<Rational>("2/3")};
  tree.class_polarity = {from_text<Rational>("1/2"), from_text<Rational>("-1/4")};
  for (int levels = 1; levels <= 3; ++levels) {
    CHECK(cooccurrence_by_summation(tree, levels) == cooccurrence_formula(tree, levels));
  }
  // H = 1, all 2^4 values of (layer 1, layer 2, two leaves) written out.
  Rational joint(0), single(0);
  const auto edge = [&](int parent, int child) {
    return parent == child ? Rational((1 + tree.rho) / 2) : Rational((1 - tree.rho) / 2);
  };
  for (std::size_t c = 0; c < 2; ++c) {
    for (int code = 0; code < 16; ++code) {
      const int top = code & 1, middle = (code >> 1) & 1, l = (code >> 2) & 1, m = (code >> 3) & 1;
      const Rational one = (1 - tree.class_polarity[c]) / 2;
      const Rational p = tree.class_law[c] * (top == 1 ? one : Rational(1 - one)) *
                         edge(top, middle) * edge(middle, l) * edge(middle, m);
      if (m == 1) single += p;
      if (m == 1 && l == 1) joint += p;
    }
  }
  CHECK(joint / single == cooccurrence_formula(tree, 1));
}

TEST_CASE("instances refuse what is no data law", "[joma][input]") {
  const auto build = [](const Record& values) {
    return class_instance<double>(Parameters("joma", values), 1);
  };
  const auto with_law = [](const char* a, const char* b, const char* c, const char* d) {
    return Record{{"X", {{a, b}, {c, d}}}};
  };
  CHECK_THROWS_WITH(build(with_law("0.5", "-0.1", "0.5", "1.1")), Catch::Contains("negative"));
  CHECK_THROWS_WITH(build(with_law("0.5", "0.1", "0.4", "0.9")), Catch::Contains("sums to"));
  CHECK_THROWS_WITH(build({{"X", {{"nan"}}}}), Catch::Contains("not a finite number"));
  CHECK_THROWS_WITH(build({{"X", {{"1", "0"}, {"0"}}}}), Catch::Contains("row 1"));
  CHECK_THROWS_WITH(build({{"X", {{"1"}}}, {"W0", {{"1"}}}}), Catch::Contains("at least 2 rows"));
  const auto reduce = [](const Record& values) {
    return reduced_instance<double>(Parameters("joma", values), 1);
  };
  CHECK_THROWS_WITH(reduce({{"mu", {"1"}}, {"delta", {"1"}}}), Catch::Contains("exclude"));
  CHECK_THROWS_WITH(reduce({{"mu", {"1"}}, {"tau", "3"}, {"temperature", "1"}}),
                    Catch::Contains("contradicts"));
  CHECK_THROWS_WITH(reduce({{"mu", {"1"}}, {"tau", "-1"}}), Catch::Contains("must be > 0"));
}

TEST_CASE("mean gradient: of sequences of one token it is the direction of the weights", "[joma]") {
  // Attention has nothing to choose: b = x, and the mean of b times what is pulled back is Delta.
  ClassInstance<double> instance;
  instance.token_law = Matrix<double>::Identity(2, 2);
  instance.class_law = Vector<double>{{0.3, 0.7}};
  instance.weights.resize(3, 2);
  instance.weights << 0.2, -0.1, 0.3, 0.4, 0.05, -0.2;
  instance.logits = Vector<double>{{0.1, -0.1}};
  instance.attention = Attention::softmax;
  const PopulationFlow<double> flow(instance);
  const Vector<double> x = flow.initial();
  Vector<double> direction(x.size());
  flow.rhs(x, direction, 0.0);
  const Matrix<double> gradient = flow.mean_gradient(x);
  REQUIRE(gradient.norm() > 0.1);
  const Matrix<double> weights = direction.head(6).reshaped(3, 2).topRows(2);
  CHECK((weights - gradient).norm() < 1e-15);
  CHECK((flow.mean_attention(x) - instance.class_law).norm() < 1e-15);
}

}  // namespace rungs_test
