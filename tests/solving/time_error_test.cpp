/// What events cost, and that the uncertainties of their times hold the truth and are not idle.

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/watch.hpp"
#include "problems/any_flow.hpp"
#include "sanitized.hpp"
#include "solving/quintic_step.hpp"

namespace time_error_test {

using namespace popgrad;

namespace {

template <class T>
SolveRequest<T> request_to(const T& end, const T& tolerance) {
  SolveRequest<T> request;
  request.end = end;
  request.save_at = equally_spaced(T(0), end, 101);  // as the command does
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance / T(100);
  request.find_events = false;
  return request;
}

template <class T>
AnyRung<T> counted(AnyRung<T> rung, std::size_t& evaluations) {
  rung.field.value = [rhs = rung.field.value, &evaluations](const Vector<T>& x, Vector<T>& dx,
                                                            const T& t) {
    ++evaluations;
    rhs(x, dx, t);
  };
  return rung;
}

template <class T>
std::vector<Event<T>> watched(const AnyRung<T>& rung, const std::vector<Regime>& regimes,
                              SolveRequest<T> request) {
  request.find_events = true;
  request.observe_steps = true;
  Trajectory<T> run = solve(rung, request);
  REQUIRE(run.outcome.ending == Ending::reached_end);
  watch_flow<T>(run, rung, regimes, request, [] { return false; });
  return run.events;
}

// Evaluations with events over those without.
template <class T>
double cost_of_events(const AnyRung<T>& rung, const std::vector<Regime>& regimes, const T& end,
                      const T& tolerance, const FieldInDouble& in_double = nullptr) {
  std::size_t without = 0;
  std::size_t with = 0;
  SolveRequest<T> request = request_to(end, tolerance);
  solve(counted(rung, without), request);
  request.field_in_double = in_double;
  CHECK_FALSE(watched(counted(rung, with), regimes, request).empty());
  return static_cast<double>(with) / static_cast<double>(without);
}

// Events of a solve at 1e-13, the regimes in rows four times as dense as those of its steps.
std::vector<Event<double>> sharpest(const AnyRung<double>& rung, const std::vector<Regime>& regimes,
                                    double end) {
  SolveRequest<double> request = request_to(end, 1e-13);
  request.observe_steps = true;
  const std::vector<double> t = solve(rung, request).step_t;
  request.save_at.clear();
  for (std::size_t k = 0; k + 1 < t.size(); ++k) {
    for (int part = 0; part < 4; ++part)
      request.save_at.push_back(t[k] + (t[k + 1] - t[k]) * part / 4);
  }
  request.observe_steps = false;
  request.find_events = true;
  const Trajectory<double> run = solve(rung, request);
  std::vector<Event<double>> events = run.events;
  for (const Event<double>& event : find_regimes<double>(run, regimes, SeriesKind::smooth)) {
    events.push_back(event);
  }
  return events;
}

// Distance to the nearest of its name and column.
template <class T>
double error_of(const Event<T>& event, const std::vector<Event<T>>& truth) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const Event<T>& other : truth) {
    if (other.name != event.name || other.column != event.column) continue;
    nearest = std::min(nearest, std::fabs(to_double(T(other.t - event.t))));
  }
  return nearest;
}

const Parameters& two_tokens() {
  static const Parameters parameters("joma", {{"mu", {0.9, 0.5}}});
  return parameters;
}

}  // namespace

TEST_CASE("time error: events cost a fifth of the evaluations of a flow at most", "[time_error]") {
  const auto cost = [](const std::string& name, const std::string& rung, double end) {
    const Model& model = find_model(name);
    return cost_of_events(model.rung(rung, Parameters(name), 1), model.regimes(), end, 1e-11);
  };
  CHECK(cost("joma", "reduced", 100) <= 1.2);
  CHECK(cost("joma", "flow", 20) <= 1.2);
  CHECK(cost("scan-snap", "flow", 1000) <= 1.2);
  CHECK(cost("scb", "flow", 200) <= 1.2);
  CHECK(cost("topic", "symmetric", 3000) <= 1.2);
}

TEST_CASE("time error: the same in fifty digits", "[time_error][unsanitized]") {
  const DigitsScope scope(50);
  const Model& model = find_model("joma");
  CHECK(cost_of_events(model.rung_in_digits("reduced", two_tokens(), 1), model.regimes(), Real(100),
                       pow(Real(10), -45)) <= 1.2);
  // As the command solves it. Most steps of the second are short ones near a steady state.
  const auto cost = [](const std::string& name, const std::string& rung, double end) {
    const Model& other = find_model(name);
    const Parameters parameters(name);
    return cost_of_events(other.rung_in_digits(rung, parameters, 1), other.regimes(), Real(end),
                          pow(Real(10), -35), other.rung(rung, parameters, 1).field.value);
  };
  CHECK(cost("scb", "reduced", 200) <= 1.1);
  CHECK(cost("joma", "reduced", 10) <= 1.2);
}

TEST_CASE("time error: rows inside steps of digits are those of the solution", "[time_error]") {
  // Three scales towards (3, 2, 1), each known; the slowest is left with 1e-30 of its distance.
  const std::array<double, 3> rates{1, 7, 60};
  const auto field = [&](const auto& x, auto& dx) {
    for (int i = 0; i < 3; ++i) dx[i] = rates[static_cast<std::size_t>(i)] * (3 - i - x[i]);
  };
  const DigitsScope scope(40);
  const auto start = Vector<Real>{{Real(4), Real(4), Real(-1)}};
  const AnyRung<Real> rung = problems::any_flow<Real>(start, field);
  const auto solved = [&](FieldInDouble in_double) {
    SolveRequest<Real> request = request_to(Real(70), pow(Real(10), -35));
    request.save_at.clear();
    request.observe_steps = true;
    request.field_in_double = std::move(in_double);
    return solve(rung, request);
  };
  const auto in_double = [&](const Vector<double>& x, Vector<double>& dx, double) { field(x, dx); };
  for (const Trajectory<Real>& run : {solved(nullptr), solved(in_double)}) {
    REQUIRE(run.outcome.ending == Ending::reached_end);
    CHECK(run.step_t.size() > 3 * run.outcome.steps_taken);
    for (std::size_t k = 0; k < run.step_t.size(); ++k) {
      for (int i = 0; i < 3; ++i) {
        const Real rate(rates[static_cast<std::size_t>(i)]);
        const Real steady(3 - i);
        const Real exact = steady + (start[i] - steady) * exp(Real(-rate * run.step_t[k]));
        const Real error = abs(Real(run.step_rows[k][static_cast<std::size_t>(i)] - exact));
        CAPTURE(i, k, to_double(run.step_t[k]), to_double(error));
        CHECK(error < pow(Real(10), -11));
        // Whether the slowest goes up or down is seen as long as the solve resolves it.
        if (i == 0) CHECK(error < (exact - steady) / 1000 + pow(Real(10), -33));
      }
    }
  }
  // A dozen places a step, of some 100 evaluations.
  SolveRequest<Real> request = request_to(Real(70), pow(Real(10), -35));
  const auto without = static_cast<double>(solve(rung, request).outcome.evaluations);
  CHECK(static_cast<double>(solved(in_double).outcome.evaluations) < 1.1 * without);
}

TEST_CASE("time error: the polynomial inside a step is of order five, and knows its error",
          "[time_error]") {
  const DigitsScope scope(40);
  // x' = t - x^2 at x(0) = 1; what x is elsewhere a solve to 35 digits says.
  AnyRung<Real> rung;
  rung.dimension = 1;
  rung.initial = Vector<Real>::Ones(1);
  rung.observables.columns = {"x"};
  rung.field.value = [](const Vector<Real>& x, Vector<Real>& dx, const Real& t) {
    dx[0] = t - x[0] * x[0];
  };
  rung.observables.read = [](const Vector<Real>& x, const Real&, std::span<Real> row) {
    row[0] = x[0];
  };
  const std::array<double, 5> shares{0.1, 0.3, 0.5, 0.8, 1};
  const auto error_and_defect = [&](double width) {
    SolveRequest<Real> request;
    request.end = Real(width);
    for (const double share : shares) request.save_at.push_back(Real(width) * Real(share));
    request.relative_tolerance = request.absolute_tolerance = pow(Real(10), -35);
    const Trajectory<Real> exact = solve(rung, request);
    const Vector<Real> end = Vector<Real>::Constant(1, exact.rows.back()[0]);
    Vector<Real> slope(1);
    Vector<Real> slope_end(1);
    rung.field.value(rung.initial, slope, Real(0));
    rung.field.value(end, slope_end, Real(width));
    solving::QuinticStep step;
    const solving::Field<Real> field{rung.field.value, {}, {}};
    const Real begin(0);
    const auto fits = [&](double allowed) {
      return step.fit(field, {begin, rung.initial, slope}, {request.end, end, slope_end},
                      Real(allowed));
    };
    double defect = 1;
    while (fits(defect)) defect /= 1.1;
    double largest = 0;
    Vector<Real> x(1);
    for (std::size_t k = 0; k < shares.size(); ++k) {
      step.at(request.save_at[k], x);
      largest = std::max(largest, std::fabs(to_double(Real(x[0] - exact.rows[k][0]))));
    }
    CHECK_FALSE(step.fits());
    return std::pair{largest, defect};
  };
  const auto [error, defect] = error_and_defect(0.1);
  const auto [finer, finer_defect] = error_and_defect(0.05);
  CAPTURE(error, defect, finer, finer_defect);
  CHECK(std::fabs(std::log2(error / finer) - 5) < 0.3);
  CHECK(std::fabs(std::log2(defect / finer_defect) - 5) < 0.5);
  CHECK(defect > error);
  CHECK(defect < 100 * error);
}

TEST_CASE("time error: the polynomial inside a step is exact for degree five", "[time_error]") {
  const DigitsScope scope(40);
  const auto value = [](const Real& t) {
    return Real(1 + t * (2 - t * t * (3 - t * (4 + 5 * t))));
  };
  const auto rate = [](const Real& t) { return Real(2 - t * t * (9 - t * (16 + 25 * t))); };
  const solving::Field<Real> field{
      [&](const Vector<Real>&, Vector<Real>& dx, const Real& t) { dx[0] = rate(t); }, {}, {}};
  const Real begin(1);
  const Real end(3);
  const auto at = [](const Real& x) { return Vector<Real>::Constant(1, x); };
  const Vector<Real> x = at(value(begin));
  const Vector<Real> slope = at(rate(begin));
  const Vector<Real> x_end = at(value(end));
  const Vector<Real> slope_end = at(rate(end));
  const Real rounding = pow(Real(10), -34);
  solving::QuinticStep step;
  REQUIRE(step.fit(field, {begin, x, slope}, {end, x_end, slope_end}, rounding));
  Vector<Real> found(1);
  for (const double t : {1.0, 1.25, 1.9, 2.5, 3.0}) {
    step.at(Real(t), found);
    CHECK(abs(Real(found[0] - value(Real(t)))) < rounding);
  }
}

TEST_CASE("time error: where double overflows, rows come from digits", "[time_error]") {
  const DigitsScope scope(30);
  const auto field = [](const auto& x, auto& dx) { dx[0] = -x[0]; };
  const AnyRung<Real> rung =
      problems::any_flow<Real>(Vector<Real>::Constant(1, pow(Real(10), 400)), field);
  SolveRequest<Real> request = request_to(Real(5), pow(Real(10), -25));
  request.observe_steps = true;
  request.field_in_double = [&](const Vector<double>& x, Vector<double>& dx, double) {
    field(x, dx);
  };
  const Trajectory<Real> run = solve(rung, request);
  REQUIRE(run.step_t.size() > 3);
  for (std::size_t k = 0; k < run.step_t.size(); ++k) {
    const Real exact = pow(Real(10), 400) * exp(Real(-run.step_t[k]));
    CHECK(abs(Real(run.step_rows[k][0] / exact - 1)) < pow(Real(10), -11));
  }
}

TEST_CASE("time error: uncertainties hold the truth and are seldom a hundred times too wide",
          "[time_error][unsanitized]") {
  std::size_t seen = 0;
  std::size_t wide = 0;
  const auto examine = [&](const std::string& name, const std::string& rung_name, double end) {
    const Model& model = find_model(name);
    const AnyRung<double> rung = model.rung(rung_name, Parameters(name), 1);
    const std::vector<Event<double>> truth = sharpest(rung, model.regimes(), end);
    for (const double tolerance : {1e-8, 1e-9, 1e-10, 1e-11}) {
      for (const Event<double>& event :
           watched(rung, model.regimes(), request_to(end, tolerance))) {
        const double error = error_of(event, truth);
        CAPTURE(name, tolerance, event.name, event.column, event.t, error, event.uncertainty);
        CHECK(error <= event.uncertainty);
        ++seen;
        wide += event.uncertainty > 100 * error ? 1U : 0U;
      }
    }
  };
  examine("joma", "reduced", 4);
  examine("scan-snap", "flow", 100);
  examine("scb", "flow", 100);
  examine("topic", "symmetric", 3000);
  CHECK(seen >= 30);
  CHECK(3 * wide <= seen);
}

TEST_CASE(
    "time error: entropy minima of drawn instances are where quadrature has them, by every method",
    "[time_error][unsanitized]") {
  struct Drawn {
    std::vector<double> mu;
    double v0, tau, t;
    double end = 20;
  };
  // v_k(t) by inverting t = int dv / ((mu_k - v) exp(v^2/tau)) in 34 digits, and the zero of dH/dt of those.
  const std::vector<Drawn> drawn{
      {{0.59, 1.66, 2.95}, 0.03, 1.67, 0.59033284893448260},
      {{2.2, 2.16, 1.76}, 0.17, 3.83, 1.80628692548256030},
      {{1.21, 1.53, 2.44, 0.37}, 0.1, 1.5, 0.74356638215502556},
      {{1.14, 0.31, 1.64}, 0.08, 2.7, 3.16439424912424118},
      {{2.23, 1.82, 0.67}, 0.1, 3.93, 2.45156791033597516},
      // Stiff: rates of 4e5 and 2e5; by Taylor series in 45 digits.
      {{4.45343, 3.37743, 2.08965, 0.209517, 0.642091},
       0.0058039,
       1.5334,
       0.29836350991324973,
       0.6},
      {{0.416572, 0.203592, 4.91462}, 0.0029443, 1.9794, 0.31035295416924176, 0.62},
      // So shallow that the noise of an explicit method moves it by a hundredth of its time.
      {{0.414771, 0.82791, 0.429715, 0.200034, 0.224155}, 0.0025598, 2.2489, 9.29939168621665492}};
  const Model& model = find_model("joma");
  for (const Drawn& d : drawn) {
    const Parameters parameters("joma", {{"mu", d.mu}, {"v0", d.v0}, {"tau", d.tau}});
    const AnyRung<double> rung = model.rung("reduced", parameters, 1);
    for (const Method method :
         {Method::dopri5, Method::bulirsch_stoer, Method::rosenbrock4, Method::automatic}) {
      for (const double tolerance : {1e-11, 1e-7}) {
        // Noise turns in most steps of a stiff solve, which takes seconds, and minutes under the sanitizers.
        if (d.end < 1 && build::sanitized()) continue;
        SolveRequest<double> request = request_to(d.end, tolerance);
        request.method = method;
        int seen = 0;
        for (const Event<double>& event : watched(rung, model.regimes(), request)) {
          CHECK(event.name != "entropy-maximum");
          if (event.name != "entropy-minimum") continue;
          CAPTURE(d.mu, name_of(method), tolerance, event.t, d.t, event.uncertainty);
          CHECK(std::fabs(event.t - d.t) <= event.uncertainty);
          if (tolerance < 1e-9) CHECK(event.uncertainty < 1e-6 * d.t);
          ++seen;
        }
        if (tolerance < 1e-9) CHECK(seen == 1);
      }
    }
  }
}

TEST_CASE("time error: what no second solve shows is known to its step", "[time_error]") {
  // A turn of 1e-5 on a slope: solves a hundred times looser than 1e-7 leave it out.
  AnyRung<double> rung =
      problems::any_flow<double>(Vector<double>{{0.0, 0.0}}, [](const auto& x, auto& dx) {
        dx[0] = 1;
        dx[1] = 0.001 * std::sin(40 * x[0]);
      });
  rung.events = {{"turn", "x_1", EventKind::minimum,
                  [](const Vector<double>& x, const double&) { return std::sin(40 * x[0]); },
                  [](const Vector<double>& x, const double&) { return x[1]; }}};
  const double period = std::acos(-1.0) / 20;
  std::size_t seen = 0;
  for (const double end : {0.9 * period, 1.1 * period, 1.5 * period}) {
    SolveRequest<double> request = request_to(end, 1e-7);
    request.find_events = true;
    request.observe_steps = true;
    Trajectory<double> run = solve(rung, request);
    watch_flow<double>(run, rung, {}, request, [] { return false; });
    for (const Event<double>& event : run.events) {
      const double nearest = std::round(event.t / period) * period;
      CAPTURE(end, event.t, event.uncertainty);
      CHECK(std::fabs(event.t - nearest) <= event.uncertainty);
      const bool unseen = !run.outcome.notes.empty();
      if (unseen) {
        CHECK(event.uncertainty > 1e-4 * period);
        // A step has four rows, and the event lies in one of two.
        const auto& t = run.step_t;
        const auto after = std::lower_bound(t.begin(), t.end(), event.t) - t.begin();
        const auto row = [&](std::ptrdiff_t k) {
          return t[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(k, 0, std::ssize(t) - 1))];
        };
        CHECK(event.uncertainty >= event.t - row(after - 4));
        CHECK(event.uncertainty >= row(after + 4) - event.t);
      }
      seen += unseen ? 1U : 0U;
    }
  }
  CHECK(seen > 0);
}

TEST_CASE("time error: uncertainties in digits hold the truth", "[time_error][unsanitized]") {
  const Model& model = find_model("joma");
  for (const std::string& name : {"reduced", "attended"}) {
    for (const unsigned digits : {17U, 24U, 40U}) {
      std::vector<Event<Real>> truth;
      const std::vector<Regime> none;
      {
        const DigitsScope scope(digits + 15);
        const AnyRung<Real> rung = model.rung_in_digits(name, two_tokens(), 1);
        SolveRequest<Real> request =
            request_to(Real(10), Real(pow(Real(10), -static_cast<int>(digits) - 10)));
        request.find_events = true;
        truth = solve(rung, request).events;
      }
      const DigitsScope scope(digits);
      const Real tolerance = pow(Real(10), 5 - static_cast<int>(digits));
      const auto events = watched(model.rung_in_digits(name, two_tokens(), 1), none,
                                  request_to(Real(10), tolerance));
      REQUIRE(events.size() == truth.size());
      for (const Event<Real>& event : events) {
        const double error = error_of(event, truth);
        CAPTURE(name, digits, event.name, error, event.uncertainty);
        CHECK(4 * error <= event.uncertainty);
        CHECK(event.uncertainty < 1e7 * to_double(tolerance));
      }
    }
  }
}

TEST_CASE("time error: the margin is there where the truth is known", "[time_error]") {
  // x' = r x (1 - x) passes a level c at ln(c (1 - x0) / (x0 (1 - c))) / r.
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const double rate : {0.5, 1.0, 2.0}) {
    for (const double level : {0.1, 0.5, 0.8}) {
      for (const double tolerance : {1e-9, 1e-11}) {
        const double start = 0.01;
        AnyRung<double> rung = problems::any_flow<double>(
            Vector<double>{{start}},
            [rate](const auto& x, auto& dx) { dx[0] = rate * x[0] * (1 - x[0]); });
        const auto above = [level](const Vector<double>& x, const double&) { return x[0] - level; };
        rung.events = {{"level", "x_0", EventKind::crossing, above, above}};
        const auto events = watched(rung, {}, request_to(40.0, tolerance));
        REQUIRE(events.size() == 1);
        const double truth = std::log(level * (1 - start) / (start * (1 - level))) / rate;
        const double error = std::fabs(events[0].t - truth);
        CAPTURE(rate, level, tolerance, error, events[0].uncertainty);
        CHECK(error <= events[0].uncertainty);
        // Above what rounding leaves of a time.
        if (error < 1e-13 * truth) continue;
        least = std::min(least, events[0].uncertainty / error);
        most = std::max(most, events[0].uncertainty / error);
      }
    }
  }
  // Of the margin of 30 up to a tenth is used up here.
  CHECK(least > 2);
  CHECK(most < 200);
}

}  // namespace time_error_test
