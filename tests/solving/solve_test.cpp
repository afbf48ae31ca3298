#include "popgrad/solving/solve.hpp"

#include <boost/throw_exception.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <stdexcept>

#include "popgrad/scalars/real.hpp"
#include "problems/any_flow.hpp"
#include "problems/log_log_slope.hpp"
#include "solving/explicit_steppers.hpp"
#include "solving/rosenbrock4_core.hpp"

namespace solve_test {

using namespace popgrad;
using problems::any_flow;

namespace {

// x' = y, y' = -x from (1, 0): (cos t, -sin t).
AnyRung<double> oscillator() {
  return any_flow<double>(Vector<double>{{1.0, 0.0}}, [](const auto& x, auto& dx) {
    dx[0] = x[1];
    dx[1] = -x[0];
  });
}

SolveRequest<double> request_to(double end, double tolerance) {
  SolveRequest<double> request;
  request.end = end;
  request.save_at = equally_spaced(0.0, end, 11);
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance;
  return request;
}

// Error at t = 2 of `stepper` walked with equal steps (tolerances too loose to reject one).
double fixed_step_error(solving::Stepper<double>& stepper, int steps) {
  const double h = 2.0 / steps;
  stepper.start(Vector<double>{{1.0, 0.0}}, 0.0, h);
  for (int k = 0; k < steps; ++k) REQUIRE(stepper.try_step(h));
  return std::hypot(stepper.x()[0] - std::cos(2.0), stepper.x()[1] + std::sin(2.0));
}

}  // namespace

TEST_CASE("solve: dopri5 converges at order 5, its dense output at order 4 locally 5", "[solve]") {
  const AnyRung<double> rung = oscillator();
  const solving::Field<double> field{rung.field.value, {}, {}};
  const std::vector<double> counts{20, 40, 80};
  std::vector<double> steps, errors, inside;
  for (const double n : counts) {
    const auto stepper = solving::make_dopri5<double>(field, {1e9, 1e9});
    steps.push_back(2.0 / n);
    errors.push_back(fixed_step_error(*stepper, static_cast<int>(n)));
    Vector<double> x;
    const double t = (stepper->t() + stepper->t_old()) / 2;
    stepper->at(t, x);
    inside.push_back(std::hypot(x[0] - std::cos(t), x[1] + std::sin(t)));
  }
  // 0.2 around the theory, as for every order measured here.
  CHECK(log_log_slope(steps, errors) == Approx(5.0).margin(0.2));
  CHECK(log_log_slope(steps, inside) > 3.8);
}

TEST_CASE("solve: rosenbrock4 converges at order 4", "[solve]") {
  // x'' = -x^2 from (1, 0), against dopri5 at a tolerance far below the errors measured.
  SolveRequest<double> precise = request_to(2.0, 1e-14);
  precise.save_at = {2.0};
  const std::vector<double> reference = solve(any_flow<double>(Vector<double>{{1.0, 0.0}},
                                                               [](const auto& x, auto& dx) {
                                                                 dx[0] = x[1];
                                                                 dx[1] = -x[0] * x[0];
                                                               }),
                                              precise)
                                            .rows.front();
  std::vector<double> steps, errors;
  for (const int n : {40, 80, 160}) {
    solving::Rosenbrock4Core core(
        2,
        [](const double* x, double* dx, double) {
          dx[0] = x[1];
          dx[1] = -x[0] * x[0];
        },
        [](const double* x, double* j, double, double* in_time) {
          j[0] = 0;
          j[1] = 1;
          j[2] = -2 * x[0];
          j[3] = 0;
          in_time[0] = in_time[1] = 0;
        },
        1.0, 1.0);
    double x[2] = {1, 0};
    double next[2];
    const double h = 2.0 / n;
    for (int k = 0; k < n; ++k) {
      core.plain_step(x, k * h, next, h);
      x[0] = next[0];
      x[1] = next[1];
    }
    steps.push_back(h);
    errors.push_back(std::hypot(x[0] - reference[0], x[1] - reference[1]));
  }
  CHECK(log_log_slope(steps, errors) == Approx(4.0).margin(0.2));
}

TEST_CASE("solve: the error follows the tolerance for every method", "[solve]") {
  AnyRung<double> rung = oscillator();
  rung.field.jacobian = [](const Vector<double>&, Matrix<double>& j, const double&) {
    j.resize(2, 2);
    j << 0, 1, -1, 0;
  };
  for (const Method method : {Method::dopri5, Method::bulirsch_stoer, Method::rosenbrock4}) {
    for (const double tolerance : {1e-6, 1e-9}) {
      SolveRequest<double> request = request_to(5.0, tolerance);
      request.method = method;
      const auto run = solve(rung, request);
      REQUIRE(run.outcome.ending == Ending::reached_end);
      REQUIRE(run.t == request.save_at);  // exactly where asked, ends included
      for (std::size_t k = 0; k < run.t.size(); ++k) {
        // Local errors of some hundred steps add up.
        CHECK(std::fabs(run.rows[k][0] - std::cos(run.t[k])) < 300 * tolerance);
      }
    }
  }
}

TEST_CASE("solve: many digits, at the ends of steps, inside them and at events",
          "[solve][events]") {
  // x' = 1/(1 + s^2), s' = 1 from s = -10: x = atan s, with poles an imaginary unit beside the way.
  const auto rate = [](const auto& x, auto& dx) {
    dx[1] = 1;
    dx[0] = 1 / (1 + x[1] * x[1]);
  };
  double cost = 0;
  for (const unsigned digits : {30U, 60U, 120U}) {
    const DigitsScope scope(digits);
    const Real tolerance = pow(Real(10), 5 - static_cast<int>(digits));
    AnyRung<Real> rung = any_flow<Real>(Vector<Real>{{atan(Real(-10)), Real(-10)}}, rate);
    const auto level = [](const Vector<Real>& x, const Real&) { return Real(x[0] - Real(1)); };
    const auto turn = [](const Vector<Real>& x, const Real&) {
      return Real(-2 * x[1] / pow(Real(1 + x[1] * x[1]), 2));
    };
    rung.events = {{"level", "x_0", EventKind::crossing, level, level},
                   {"fastest", "x_0", EventKind::maximum, turn, turn}};
    SolveRequest<Real> request;
    request.end = Real(20);
    request.save_at = equally_spaced(Real(0), Real(20), 41);
    request.relative_tolerance = tolerance;
    request.absolute_tolerance = tolerance;
    const auto run = solve(rung, request);
    REQUIRE(run.outcome.ending == Ending::reached_end);
    for (std::size_t k = 0; k < run.t.size(); ++k) {
      CHECK(abs(run.rows[k][0] - atan(Real(run.t[k] - 10))) < 300 * tolerance);
    }
    REQUIRE(run.events.size() == 2);
    CHECK(abs(run.events[0].t - 10) < 3000 * tolerance);
    CHECK(abs(run.events[1].t - Real(10) - tan(Real(1))) < 3000 * tolerance);
    // The order grows with the digits: twice the digits cost about four times the evaluations, where
    // a fixed order of 18 takes 46 times as many steps from 30 digits to 60 and 2154 from there to 120.
    const auto evaluations = static_cast<double>(run.outcome.evaluations);
    if (cost > 0) CHECK(evaluations < 6 * cost);
    cost = evaluations;
  }
}

TEST_CASE("solve: a crossing is located to the tolerance", "[solve][events]") {
  AnyRung<double> rung = oscillator();
  const auto x0 = [](const Vector<double>& x, const double&) { return x[0]; };
  rung.events = {{"zero", "x_0", EventKind::crossing, x0, x0}};
  const auto run = solve(rung, request_to(10.0, 1e-12));
  REQUIRE(run.events.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(run.events[k].t == Approx((0.5 + static_cast<double>(k)) * M_PI).margin(1e-10));
  }
}

TEST_CASE("solve: the blow-up of x' = x^2 at 1 is an event", "[solve][events]") {
  const auto square = [](const auto& x, auto& dx) { dx[0] = x[0] * x[0]; };
  const auto run = solve(any_flow<double>(Vector<double>{{1.0}}, square), request_to(3.0, 1e-11));
  REQUIRE(run.outcome.ending == Ending::blew_up);
  REQUIRE(run.events.size() == 1);
  CHECK(run.events[0].t == Approx(1.0).margin(1e-9));
  CHECK(run.rows.size() == 4);  // t = 0, 0.3, 0.6, 0.9

  const DigitsScope scope(50);
  SolveRequest<Real> request;
  request.end = Real(3);
  request.relative_tolerance = Real("1e-45");
  request.absolute_tolerance = Real("1e-45");
  const auto precise = solve(any_flow<Real>(Vector<Real>::Constant(1, Real(1)), square), request);
  REQUIRE(precise.events.size() == 1);
  CHECK(abs(precise.events[0].t - Real(1)) < Real("1e-40"));
}

TEST_CASE("solve: exponential growth is no blow-up", "[solve][events]") {
  const auto run =
      solve(any_flow<double>(Vector<double>{{1.0}}, [](const auto& x, auto& dx) { dx = x; }),
            request_to(50.0, 1e-10));
  CHECK(run.outcome.ending == Ending::reached_end);
  CHECK(run.events.empty());
  // 50 time constants magnify a relative error of 1e-10 a step some hundredfold.
  CHECK(run.rows.back()[0] / std::exp(50.0) == Approx(1.0).margin(1e-6));
}

TEST_CASE("solve: failures are outcomes and never loops", "[solve]") {
  const auto to_nan = any_flow<double>(
      Vector<double>{{1.0}},
      [](const auto& x, auto& dx) {
        dx[0] = -std::sqrt(x[0] - 0.5);  // not a number below 1/2
        if (x[0] < 0.75) dx[0] = std::nan("");
      },
      [](const auto& x, auto& j) { j(0, 0) = -0.5 / std::sqrt(x[0] - 0.5); });
  for (const Method method : {Method::dopri5, Method::rosenbrock4}) {
    SolveRequest<double> request = request_to(10.0, 1e-8);
    request.method = method;
    request.step_budget = 100'000;
    const auto failed = solve(to_nan, request);
    CHECK_FALSE(failed.outcome.usable());
    CHECK(failed.outcome.ending != Ending::budget_exhausted);
    CHECK(failed.outcome.t_reached < 1.0);
    CHECK(failed.last_state[0] >= 0.74);
  }

  SolveRequest<double> small = request_to(1000.0, 1e-12);
  small.step_budget = 50;
  const auto exhausted = solve(oscillator(), small);
  CHECK(exhausted.outcome.ending == Ending::budget_exhausted);
  CHECK(exhausted.outcome.steps_taken + exhausted.outcome.steps_rejected == 50);

  SolveRequest<double> stopped = request_to(1e6, 1e-10);
  stopped.on_progress = [](double t) { return t > 10; };
  CHECK(solve(oscillator(), stopped).outcome.ending == Ending::interrupted);
}

TEST_CASE("solve: auto hands a stiff flow to rosenbrock4", "[solve]") {
  // y follows x, which decays slowly; the ratio of rates is 1e5.
  const auto stiff = any_flow<double>(
      Vector<double>{{1.0, 0.0}},
      [](const auto& x, auto& dx) {
        dx[0] = -x[0];
        dx[1] = -1e5 * (x[1] - x[0]);
      },
      [](const auto&, auto& j) {
        j(0, 0) = -1;
        j(1, 0) = 1e5;
        j(1, 1) = -1e5;
      });
  SolveRequest<double> request = request_to(5.0, 1e-8);
  const auto automatic = solve(stiff, request);
  request.method = Method::dopri5;
  const auto explicit_run = solve(stiff, request);
  REQUIRE(automatic.outcome.ending == Ending::reached_end);
  CHECK(automatic.outcome.steps_taken * 10 < explicit_run.outcome.steps_taken);
  CHECK(automatic.rows.back()[0] == Approx(std::exp(-5.0)).margin(1e-6));
  CHECK_FALSE(automatic.outcome.notes.empty());
}

TEST_CASE("solve: rosenbrock4 goes without a Jacobian, of fields in time as well", "[solve]") {
  // Drawn couplings; what x is an independent method says.
  std::mt19937 draw(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const int n : {1, 3, 8}) {
    const Matrix<double> coupling =
        Matrix<double>::NullaryExpr(n, n, [&] { return uniform(draw); });
    AnyRung<double> rung =
        any_flow<double>(Vector<double>::Constant(n, 0.5), [](const auto&, auto&) {});
    rung.field.value = [&](const Vector<double>& x, Vector<double>& dx, const double& t) {
      dx = (coupling * x).array().sin() - 30 * (x.array() - std::cos(t));
    };
    SolveRequest<double> request = request_to(3.0, 1e-12);
    request.method = Method::dopri5;
    const auto truth = solve(rung, request);
    for (const double tolerance : {1e-6, 1e-9}) {
      request = request_to(3.0, tolerance);
      request.method = Method::rosenbrock4;
      const auto run = solve(rung, request);
      REQUIRE(run.outcome.ending == Ending::reached_end);
      for (std::size_t k = 0; k < run.rows.size(); ++k) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
          CHECK(std::fabs(run.rows[k][i] - truth.rows[k][i]) < 300 * tolerance);
        }
      }
    }
  }
}

TEST_CASE("solve: rosenbrock4 is refused where its Jacobian is too large", "[solve]") {
  SolveRequest<double> request = request_to(1.0, 1e-8);
  request.method = Method::rosenbrock4;
  const auto large =
      any_flow<double>(Vector<double>::Ones(2001), [](const auto& x, auto& dx) { dx = -x; });
  CHECK_THROWS_WITH(
      solve(large, request),
      Catch::Contains("n = 2001") && Catch::Contains("take auto, dopri5 or bulirsch-stoer"));
}

TEST_CASE("solve: auto ends where the field comes to rest, with a Jacobian and without",
          "[solve]") {
  const auto field = [](const auto& x, auto& dx) {
    dx[0] = x[1] - x[0];
    dx[1] = x[0] - x[1];  // x_0 + x_1 is conserved: rounding alone moves it
    dx[2] = -1000 * (x[2] - x[0] * x[1]);
  };
  const auto jacobian = [](const auto& x, auto& j) {
    j(0, 0) = j(1, 1) = -1;
    j(0, 1) = j(1, 0) = 1;
    j(2, 0) = 1000 * x[1];
    j(2, 1) = 1000 * x[0];
    j(2, 2) = -1000;
  };
  const Vector<double> start{{1.0, 0.3, 0.0}};
  for (const bool known : {true, false}) {
    SolveRequest<double> request = request_to(1e12, 1e-11);
    request.step_budget = 100'000;
    const auto run = solve(
        known ? any_flow<double>(start, field, jacobian) : any_flow<double>(start, field), request);
    CAPTURE(known, run.outcome.notes);
    REQUIRE(run.outcome.ending == Ending::reached_end);
    CHECK(run.t == request.save_at);
    CHECK(run.rows.back()[0] == Approx(0.65).margin(1e-9));
    CHECK(run.rows.back()[2] == Approx(0.65 * 0.65).margin(1e-9));
  }
}

TEST_CASE("solve: a solution held at a jump of its field ends soon at a tight tolerance",
          "[solve]") {
  const auto held = any_flow<double>(Vector<double>{{1.0, 0.0}}, [](const auto& x, auto& dx) {
    dx[0] = x[0] > 0 ? -1 : 2;  // reaches 0 at t = 1
    dx[1] = 1;
  });
  const auto tight = solve(held, request_to(100.0, 1e-12));
  CHECK(tight.outcome.ending == Ending::budget_exhausted);
  CHECK(tight.outcome.t_reached == Approx(1.0).margin(1e-3));
  CHECK(tight.outcome.steps_taken + tight.outcome.steps_rejected < 20'000);
  const auto loose = solve(held, request_to(100.0, 1e-4));
  CHECK(loose.outcome.ending == Ending::reached_end);
  CHECK(loose.last_state[1] == Approx(100.0));
}

TEST_CASE("solve: what was computed is kept when a solve stops on its way", "[solve]") {
  SolveRequest<double> request = request_to(1000.0, 1e-12);
  request.step_budget = 300;
  const auto exhausted = solve(oscillator(), request);
  REQUIRE(exhausted.outcome.ending == Ending::budget_exhausted);
  CHECK(exhausted.outcome.t_reached > 1);
  REQUIRE(exhausted.last_state.size() == 2);
  CHECK(exhausted.last_state[0] == Approx(std::cos(exhausted.outcome.t_reached)).margin(1e-8));

  // What Boost throws is an ending: rows before it are there, and its text is not.
  int evaluations = 0;
  const auto throws = any_flow<double>(Vector<double>{{1.0}}, [&](const auto& x, auto& dx) {
    dx[0] = -x[0];
    if (++evaluations > 400) boost::throw_exception(std::runtime_error("a text of Boost"));
  });
  SolveRequest<double> broken = request_to(50.0, 1e-8);
  broken.save_at = equally_spaced(0.0, 50.0, 501);
  broken.find_blow_up = false;
  const auto run = solve(throws, broken);
  CHECK(run.outcome.ending == Ending::not_a_number);
  CHECK(run.rows.size() > 1);
  CHECK(run.outcome.t_reached >= run.t.back());
}

TEST_CASE("solve: blow-ups on every scale of time, and at the end of a solve", "[solve][events]") {
  const auto square = [](double rate) {
    return any_flow<double>(Vector<double>{{1.0}},
                            [rate](const auto& x, auto& dx) { dx[0] = rate * x[0] * x[0]; });
  };
  for (const double rate : {1e-200, 1e-9, 1.0, 1e9, 1e200}) {
    const auto run = solve(square(rate), request_to(3 / rate, 1e-11));
    CAPTURE(rate);
    REQUIRE(run.outcome.ending == Ending::blew_up);
    CHECK(run.events.back().t * rate == Approx(1.0).margin(1e-9));
  }
  for (const double share : {-1e-10, -1e-13, 0.0, 1e-13, 1e-10}) {
    const auto run = solve(square(1.0), request_to(1 + share, 1e-11));
    CAPTURE(share);
    CHECK(run.outcome.ending == Ending::blew_up);
    CHECK(run.events.size() == 1);
    CHECK(run.rows.size() == 10);  // that at the end is not known
  }
  const auto before = solve(square(1.0), request_to(1 - 1e-7, 1e-11));
  CHECK(before.outcome.ending == Ending::reached_end);
  CHECK(before.rows.back()[0] == Approx(1e7).epsilon(1e-3));
}

TEST_CASE("solve: what saturates within a time that is not resolved is no blow-up",
          "[solve][events]") {
  // x_0 tends to its height at rates of up to e^(height^2/2), next to an x_1 that takes its time.
  const auto saturating = [](double height) {
    return any_flow<double>(
        Vector<double>{{0.0, 0.0}},
        [height](const auto& x, auto& dx) {
          dx[0] = (height - x[0]) * std::exp(x[0] * x[0] / 2);
          dx[1] = 1 - x[1];
        },
        [height](const auto& x, auto& j) {
          j(0, 0) = (x[0] * (height - x[0]) - 1) * std::exp(x[0] * x[0] / 2);
          j(1, 1) = -1;
        });
  };
  for (const double height : {7.0, 7.5, 8.0, 8.3, 8.6, 9.0, 9.2, 9.5, 9.7, 10.0}) {
    for (const Method method : {Method::automatic, Method::rosenbrock4}) {
      SolveRequest<double> request = request_to(60.0, 1e-11);
      request.method = method;
      const auto run = solve(saturating(height), request);
      CAPTURE(height, name_of(method), run.outcome.notes);
      REQUIRE(run.outcome.ending == Ending::reached_end);
      CHECK(run.events.empty());
      for (std::size_t k = 1; k < run.t.size(); ++k) {
        CHECK(run.rows[k][0] == Approx(height).epsilon(1e-10));
        // Far below the rounding of x_0's rate, and no part of the whole is at rest before the other.
        CHECK(run.rows[k][1] == Approx(-std::expm1(-run.t[k])).epsilon(1e-9));
      }
    }
  }
  // Without end the same rates do blow up.
  const auto run =
      solve(any_flow<double>(Vector<double>{{0.0}},
                             [](const auto& x, auto& dx) { dx[0] = std::exp(x[0] * x[0] / 2); }),
            request_to(60.0, 1e-11));
  REQUIRE(run.outcome.ending == Ending::blew_up);
  CHECK(run.events.back().t == Approx(std::sqrt(std::acos(-1.0) / 2)).epsilon(1e-9));
}

TEST_CASE("solve: where a sketch has a wrong sign the zero is found beside", "[solve][events]") {
  const DigitsScope scope(30);
  // x = t^2/2, and a sketch by a field that is a ten thousandth off.
  const auto field = [](const auto& x, auto& dx) {
    dx[0] = x[1];
    dx[1] = 1;
  };
  std::mt19937 draw(3);
  std::uniform_real_distribution<double> uniform(0.2, 4.8);
  for (int k = 0; k < 40; ++k) {
    const Real level(uniform(draw));
    AnyRung<Real> rung = any_flow<Real>(Vector<Real>::Zero(2), field);
    const auto above = [&](const Vector<Real>& x, const Real&) { return Real(x[0] - level); };
    rung.events = {{"level", "x_0", EventKind::crossing, above, above}};
    SolveRequest<Real> request;
    request.end = Real(3.2);
    request.relative_tolerance = request.absolute_tolerance = pow(Real(10), -25);
    request.field_in_double = [&](const Vector<double>& x, Vector<double>& dx, double) {
      dx[0] = 1.0001 * x[1];
      dx[1] = 1;
    };
    const auto run = solve(rung, request);
    REQUIRE(run.events.size() == 1);
    CHECK(abs(Real(run.events[0].t - sqrt(Real(2 * level)))) < pow(Real(10), -22));
  }
}

TEST_CASE("solve: requests that make no sense are refused", "[solve]") {
  SolveRequest<double> request = request_to(1.0, 1e-8);
  request.relative_tolerance = 0;
  CHECK_THROWS_AS(solve(oscillator(), request), std::invalid_argument);
  request = request_to(1.0, 1e-8);
  request.save_at = {0.5, 0.2};
  CHECK_THROWS_AS(solve(oscillator(), request), std::invalid_argument);
  CHECK_THROWS_WITH(method_from_name("dopri"), Catch::Contains("did you mean 'dopri5'"));
}

}  // namespace solve_test
