#include "popgrad/rungs/regime.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/solving/solve.hpp"
#include "problems/any_flow.hpp"

namespace regime_test {

using namespace popgrad;

namespace {

using Curve = std::function<double(double)>;

Trajectory<double> rows_of(const Curve& y, double end, std::size_t count, double noise = 0,
                           std::uint32_t seed = 0) {
  Trajectory<double> run;
  run.columns = {"y"};
  Stream stream(seed, 0, 0);
  for (const double t : equally_spaced(0.0, end, count)) {
    run.t.push_back(t);
    run.rows.push_back({y(t) + (noise > 0 ? noise * stream.normal() : 0)});
  }
  return run;
}

std::vector<Event<double>> found(const Trajectory<double>& run, RegimeKind kind,
                                 SeriesKind series = SeriesKind::smooth) {
  const std::vector<Regime> regimes{{"it", "y", kind}};
  return find_regimes<double>(run, regimes, series);
}

double logistic(double t) { return 1 / (1 + std::exp(-t)); }

// 1 - tanh^2(t/2) = 1/20.
const double half_stage = 2 * std::acosh(std::sqrt(20.0));

}  // namespace

TEST_CASE("regimes: rows that overflow or are not numbers stop no search", "[regime]") {
  Stream draw(11, 0, 0);
  for (int k = 0; k < 60; ++k) {
    Trajectory<double> run =
        rows_of([](double t) { return std::cos(t) + logistic(t - 9); }, 20, 201);
    const double scale = std::pow(10.0, 300 * draw.uniform());
    const double time_scale = std::pow(10.0, -250 * draw.uniform());
    for (double& t : run.t) t *= time_scale;
    for (std::vector<double>& row : run.rows) {
      row[0] *= scale;
      if (draw.uniform() < 0.05) row[0] = std::nan("");
      if (draw.uniform() < 0.02) row[0] = std::numeric_limits<double>::infinity();
      if (draw.uniform() < 0.05) row[0] *= 1e300;
    }
    for (const RegimeKind kind :
         {RegimeKind::minimum, RegimeKind::rebound, RegimeKind::fastest_change,
          RegimeKind::settling, RegimeKind::plateau}) {
      CHECK_NOTHROW(found(run, kind));
    }
  }
}

TEST_CASE("regime: times of curves that are known", "[regime]") {
  // 401 rows: polynomials of degree 4 through spacings of 0.1 and 0.2 miss by less than 1e-5 here.
  constexpr double miss = 1e-4;
  SECTION("the fastest change of a logistic curve, rising or falling, is its middle") {
    for (const double sign : {1.0, -1.0}) {
      const auto events =
          found(rows_of([&](double t) { return sign * logistic(t - 17.3); }, 40, 401),
                RegimeKind::fastest_change);
      REQUIRE(events.size() == 1);
      CHECK(events[0].t == Approx(17.3).margin(miss));
      CHECK(events[0].value == Approx(sign / 2).margin(miss));
      CHECK(events[0].name == "it");
    }
  }
  SECTION("a relaxation settles when its speed is a twentieth: t = ln 20") {
    const auto events =
        found(rows_of([](double t) { return 1 - std::exp(-t); }, 20, 401), RegimeKind::settling);
    REQUIRE(events.size() == 1);
    CHECK(events[0].t == Approx(std::log(20.0)).margin(1e-3));
    CHECK(events[0].value == Approx(0.95).margin(1e-3));
  }
  SECTION("two stages with a plateau between them") {
    const Curve stairs = [](double t) { return logistic(t - 10) + 0.3 * logistic((t - 50) / 1.5); };
    const auto events = found(rows_of(stairs, 80, 1601), RegimeKind::plateau);
    const std::vector<std::pair<std::string, double>> expected{{"it-escape", 10 - half_stage},
                                                               {"it-entry", 10 + half_stage},
                                                               {"it-escape", 50 - 1.5 * half_stage},
                                                               {"it-entry", 50 + 1.5 * half_stage}};
    REQUIRE(events.size() == expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK(events[k].name == expected[k].first);
      CHECK(events[k].t == Approx(expected[k].second).margin(1e-3));
    }
  }
  SECTION("a minimum, and the rebound from it") {
    // -(t - 1) exp(-t) falls from 1, has its minimum at 2, rises fastest at 3.
    const Curve dip = [](double t) { return -(t - 1) * std::exp(-t); };
    const auto minimum = found(rows_of(dip, 10, 401), RegimeKind::minimum);
    REQUIRE(minimum.size() == 1);
    CHECK(minimum[0].t == Approx(2).margin(miss));
    CHECK(minimum[0].value == Approx(-std::exp(-2.0)).margin(miss));
    const auto rebound = found(rows_of(dip, 10, 401), RegimeKind::rebound);
    REQUIRE(rebound.size() == 1);
    CHECK(rebound[0].t == Approx(3).margin(miss));
  }
}

TEST_CASE("regime: a plateau is slow for as long as the change after it lasts", "[regime]") {
  // A logistic change of 0.975 at a speed of 1/4 at most lasts 3.9; it is slow until half a stage before
  // its middle.
  const auto escapes = [](double slow) {
    const double middle = slow + half_stage;
    const auto events = found(rows_of([&](double t) { return logistic(t - middle); }, 20, 801),
                              RegimeKind::plateau);
    return std::count_if(events.begin(), events.end(),
                         [](const auto& event) { return event.name == "it-escape"; });
  };
  CHECK(escapes(3.4) == 0);
  CHECK(escapes(4.4) == 1);
}

TEST_CASE("regime: nothing is found where nothing is", "[regime]") {
  const auto none = [](const Curve& y, RegimeKind kind) {
    return found(rows_of(y, 10, 401), kind).empty();
  };
  CHECK(none([](double) { return 3.0; }, RegimeKind::plateau));
  CHECK(none([](double t) { return t; }, RegimeKind::plateau));
  CHECK(none([](double t) { return t; }, RegimeKind::fastest_change));
  // The turn of a parabola is slow, but no longer than that.
  CHECK(none([](double t) { return (t - 5) * (t - 5); }, RegimeKind::plateau));
  CHECK(none([](double t) { return std::sin(t); }, RegimeKind::plateau));
  CHECK(none([](double t) { return std::exp(-t); }, RegimeKind::minimum));
  CHECK(none([](double t) { return std::exp(-t); }, RegimeKind::rebound));
  // Fastest at the start: no change between two slow stretches.
  CHECK(none([](double t) { return std::exp(-t); }, RegimeKind::fastest_change));
  // Too few rows, and rows that are no numbers.
  CHECK(found(rows_of(logistic, 10, 12), RegimeKind::fastest_change).empty());
  CHECK(none([](double) { return std::nan(""); }, RegimeKind::plateau));
}

TEST_CASE("regime: the uncertainty of a time bounds its error, whatever the spacing", "[regime]") {
  for (const std::size_t count : {61U, 101U, 201U, 401U}) {
    const auto events = found(rows_of([](double t) { return logistic(t - 17.3); }, 40, count),
                              RegimeKind::fastest_change);
    REQUIRE(events.size() == 1);
    CAPTURE(count, events[0].t, events[0].uncertainty);
    // 1e-7: what the flat top of a parabola resolves in double.
    CHECK(std::fabs(events[0].t - 17.3) <= 2 * events[0].uncertainty + 1e-6);
  }
}

TEST_CASE("regime: the times of noisy runs lie within their uncertainties",
          "[regime][unsanitized]") {
  constexpr std::uint32_t runs = 200;
  std::uint32_t seen = 0;
  std::uint32_t within = 0;
  for (std::uint32_t seed = 0; seed < runs; ++seed) {
    const auto run = rows_of([](double t) { return logistic((t - 20) / 2); }, 40, 401, 0.01, seed);
    for (const auto& event : found(run, RegimeKind::fastest_change, SeriesKind::sampled)) {
      ++seen;
      within += std::fabs(event.t - 20) <= 3 * event.uncertainty ? 1U : 0U;
    }
    // Noise alone changes by less than four deviations of a fitted value: chance 6e-5 a row.
    const auto noise = rows_of([](double) { return 0.0; }, 40, 401, 0.01, seed);
    CHECK(found(noise, RegimeKind::plateau, SeriesKind::sampled).empty());
  }
  CHECK(seen == runs);
  CHECK(within >= runs * 9 / 10);
}

TEST_CASE("regime: on a flow the rows agree with what its own event finder solves for",
          "[regime][joma]") {
  const Model& model = find_model("joma");
  const AnyRung<double> rung = model.rung(
      "reduced",
      Parameters("joma", {{"mu", {1.2, 1.5, 1.8, 2, 2.6, 3.8}}, {"v0", 0.05}, {"tau", 3}}), 1);
  SolveRequest<double> request;
  request.end = 60;
  request.relative_tolerance = 1e-11;
  request.absolute_tolerance = 1e-13;
  request.observe_steps = true;
  const auto run = solve(rung, request);
  const auto own = std::find_if(run.events.begin(), run.events.end(),
                                [](const auto& event) { return event.name == "entropy-minimum"; });
  REQUIRE(own != run.events.end());
  const std::vector<Regime> regimes{{"low", "attention_entropy", RegimeKind::minimum},
                                    {"up", "attention_entropy", RegimeKind::rebound}};
  const auto events = find_regimes<double>(run, regimes, SeriesKind::smooth);
  REQUIRE(events.size() == 2);
  CHECK(events[0].t == Approx(own->t).epsilon(1e-6));
  CHECK(events[0].value == Approx(own->value).epsilon(1e-10));
  CHECK(events[0].uncertainty < 1e-4 * own->t);
  CHECK(events[1].t > events[0].t);
}

TEST_CASE("regime: the snap of the closed form is where its B grows fastest",
          "[regime][scan_snap]") {
  const Model& model = find_model("scan-snap");
  const AnyRung<double> rung =
      model.rung("closed-form", Parameters("scan-snap", {{"preset", "growth"}}), 1);
  const std::size_t b = place_of(rung.observables.columns, "B");
  Trajectory<double> run;
  run.columns = {"y"};
  std::vector<double> row(rung.observables.columns.size());
  const auto grown = [&](double t) {
    rung.observables.read(rung.field.state_at(t), t, row);
    return row[b];
  };
  for (const double t : equally_spaced(0.0, 700.0, 701)) {
    run.t.push_back(t);
    run.rows.push_back({grown(t)});
  }
  const auto events = found(run, RegimeKind::fastest_change);
  REQUIRE(events.size() == 1);
  // Central differences over 0.02 of a function that bends over some 50: 1e-7 of it.
  double fastest = 0;
  double where = 0;
  for (const double t : equally_spaced(30.0, 70.0, 4001)) {
    const double speed = grown(t + 0.01) - grown(t - 0.01);
    if (speed > fastest) {
      fastest = speed;
      where = t;
    }
  }
  CHECK(events[0].t == Approx(where).margin(0.02));
}

TEST_CASE("regime: rows of the steps are dense where the solution moves", "[regime][solve]") {
  const AnyRung<double> rung =
      problems::any_flow<double>(Vector<double>{{1e-6}}, [](const auto& x, auto& dx) {
        dx[0] = x[0] * (1 - x[0]);  // the logistic curve with its middle at ln(1e6 - 1)
      });
  SolveRequest<double> request;
  request.end = 1000;
  request.save_at = {0, 1000};
  request.relative_tolerance = 1e-10;
  request.absolute_tolerance = 1e-14;
  request.observe_steps = true;
  auto run = solve(rung, request);
  REQUIRE(run.rows.size() == 2);
  run.columns = {"y"};
  const auto events = found(run, RegimeKind::fastest_change);
  REQUIRE(events.size() == 1);
  CHECK(events[0].t == Approx(std::log(1e6 - 1)).margin(1e-4));
  const auto plateau = found(run, RegimeKind::plateau);
  REQUIRE(plateau.size() == 2);
  CHECK(plateau[0].t == Approx(std::log(1e6 - 1) - half_stage).margin(1e-3));
  CHECK(plateau[1].t == Approx(std::log(1e6 - 1) + half_stage).margin(1e-3));
}

TEST_CASE("regime: two crossings inside a quarter of a step are both found", "[regime][solve]") {
  AnyRung<double> rung = problems::any_flow<double>(
      Vector<double>{{0.0}}, [](const auto& x, auto& dx) { dx[0] = 1 + 0 * x[0]; });
  // Steps grow to many units here, as the solution is a line; the crossings are 0.002 apart.
  const auto dip = [](const Vector<double>& x, const double&) {
    return (x[0] - 37) * (x[0] - 37) - 1e-6;
  };
  rung.events = {{"twice", "x_0", EventKind::crossing, dip, dip},
                 {"up", "x_0", EventKind::minimum, dip, dip},
                 {"down", "x_0", EventKind::maximum, dip, dip}};
  SolveRequest<double> request;
  request.end = 100;
  request.relative_tolerance = 1e-9;
  request.absolute_tolerance = 1e-9;
  const auto run = solve(rung, request);
  CHECK(run.outcome.steps_taken < 100);
  const auto times = [&](const std::string& name) {
    std::vector<double> t;
    for (const auto& event : run.events) {
      if (event.name == name) t.push_back(event.t);
    }
    return t;
  };
  REQUIRE(times("twice").size() == 2);
  CHECK(times("twice")[0] == Approx(36.999).margin(1e-9));
  CHECK(times("twice")[1] == Approx(37.001).margin(1e-9));
}

TEST_CASE("regime: a looser solve adds its distance, or is told to lack the event", "[regime]") {
  std::vector<Event<double>> sharp{{"snap", 10.0, "y", 0.5, 0.01}, {"snap", 20.0, "y", 0.7, 0.01}};
  std::vector<std::string> notes;
  auto both = sharp;
  CHECK(confirm(both, {{"snap", 10.3, "y", 0.5, 0}}, notes).empty());
  CHECK(both[0].uncertainty == Approx(0.31));
  CHECK(notes.empty());
  auto none = sharp;
  CHECK(confirm(none, {}, notes).size() == sharp.size());
  CHECK(none[0].uncertainty == Approx(0.01));
  CHECK(notes.size() == 2);
}

TEST_CASE("regime: times over runs go by name, column and order", "[regime]") {
  std::vector<Trajectory<double>> runs(3);
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const double shift = static_cast<double>(k);
    runs[k].events = {{"snap", 10 + shift, "y", 0, 0.1}, {"snap", 20 + shift, "y", 0, 0.1}};
  }
  runs[2].events.pop_back();
  const auto times = regime_times(runs);
  REQUIRE(times.size() == 2);
  CHECK(times[0].t == Approx(11));
  CHECK(times[0].uncertainty == Approx(1));
  CHECK(times[0].runs == 3);
  CHECK(times[1].ordinal == 1);
  CHECK(times[1].t == Approx(20.5));
  CHECK(times[1].runs == 2);
}

}  // namespace regime_test
