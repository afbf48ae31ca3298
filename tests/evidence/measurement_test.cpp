#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/solved.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/refinement.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/statistics/order.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "problems/any_flow.hpp"

namespace measurement_test {

using namespace popgrad;

namespace {

// x' = -y, y' = x.
AnyRung<double> circle() {
  return problems::any_flow<double>(Vector<double>{{1, 0}},
                                    [](const Vector<double>& x, Vector<double>& dx) {
                                      dx[0] = -x[1];
                                      dx[1] = x[0];
                                    });
}

}  // namespace

TEST_CASE("a solve at two tolerances bounds its own error", "[measurement]") {
  for (const double tolerance : {1e-6, 1e-8, 1e-10}) {
    const Solved solved(circle(), {1, 5, 20}, tolerance);
    const auto values = solved.along([](const Vector<double>& x) { return x[0] * x[0] + x[1]; });
    for (std::size_t i = 0; i < solved.size(); ++i) {
      const double t = solved.times()[i];
      const double exact = std::cos(t) * std::cos(t) + std::sin(t);
      CAPTURE(tolerance, t);
      CHECK(std::fabs(values[i].value() - exact) <= values[i].error());
      CHECK(values[i].error() < 1e5 * tolerance);
    }
    CHECK(solved.places().back() == "`t = 20`");
  }
}

TEST_CASE("a state that no tolerance limits has a solver error as well", "[measurement]") {
  // x' = y, y' = -x/4, at 1e-13: all tolerances take the same steps.
  constexpr double size = 1e-13;
  const AnyRung<double> rung = problems::any_flow<double>(
      Vector<double>{{size, 0}}, [](const Vector<double>& x, Vector<double>& dx) {
        dx[0] = x[1];
        dx[1] = -x[0] / 4;
      });
  const Solved solved(rung, {2, 6}, 1e-10);
  const auto values = solved.along([](const Vector<double>& x) { return x[0] / size; });
  for (std::size_t i = 0; i < solved.size(); ++i) {
    CAPTURE(values[i].value(), values[i].error());
    CHECK(std::fabs(values[i].value() - std::cos(solved.times()[i] / 2)) <= values[i].error());
  }
}

TEST_CASE("spans so short that no tolerance limits the steps have a solver error",
          "[measurement]") {
  // u' = 2 u (1 - u), which a deep linear network learns by; u = 1/2 at t = 0.
  const auto exact = [](double t) { return 1 / (1 + std::exp(-2 * t)); };
  const auto u = [](const Vector<double>& x) { return x[0]; };
  for (double begin = -1.5; begin < 0.5; begin += 0.037) {
    for (double length = 0.02; length < 1; length *= 1.13) {
      AnyRung<double> rung = problems::any_flow<double>(
          Vector<double>::Constant(1, exact(begin)),
          [](const Vector<double>& x, Vector<double>& dx) { dx[0] = 2 * x[0] * (1 - x[0]); });
      const double level = exact(begin + 0.6 * length);
      rung.events = {{"level", "x_0", EventKind::crossing,
                      [=](const Vector<double>& x, const double&) { return x[0] - level; },
                      [](const Vector<double>& x, const double&) { return x[0]; }}};
      const Quantity end = Solved(rung, {length}, 1e-6).at(0, u);
      const Quantity largest = largest_along(rung, length, 1e-6, u);
      const auto events = events_of(rung, length, 1e-6);
      CAPTURE(begin, length);
      REQUIRE(std::fabs(end.value() - exact(begin + length)) <= end.error());
      REQUIRE(std::fabs(largest.value() - exact(begin + length)) <= largest.error());
      REQUIRE(events.size() == 1);
      REQUIRE(std::fabs(events[0].time.value() - 0.6 * length) <= events[0].time.error());
    }
  }
}

TEST_CASE("rounding is found where a number cancels", "[measurement]") {
  // Both components grow alike and differ by 1e-9 of themselves.
  const AnyRung<double> rung =
      problems::any_flow<double>(Vector<double>{{1, 1 + 1e-9, 1}},
                                 [](const Vector<double>& x, Vector<double>& dx) { dx = x; });
  const Solved solved(rung, {3}, 1e-14);
  const double exact = std::exp(3) * ((1 + 1e-9) - 1);
  const auto apart = [](const Vector<double>& x) { return x[1] - x[0]; };
  const Quantity value = solved.at(0, apart);
  const double epsilon = std::numeric_limits<double>::epsilon();
  CHECK(value.error("rounding") > 2 * std::exp(3) * epsilon);
  CHECK(std::fabs(value.value() - exact) <= value.error("rounding") + value.error("solver"));
  // A number of operations times the size of the number, however many, misses what cancels.
  CHECK(value.error("rounding") > ErrorPart::rounding(1e6, value.value()).size());
  CHECK(value.error() < 1e-3 * exact);
  // The same on a whole trajectory, at its end.
  const Quantity widest = largest_along(rung, 3, 1e-14, apart);
  CHECK(widest.error("rounding") > 2 * std::exp(3) * epsilon);
  CHECK(std::fabs(widest.value() - exact) <= widest.error());
  // What does not cancel keeps a rounding of its own size.
  const Quantity plain = solved.at(0, [](const Vector<double>& x) { return x[0]; });
  CHECK(plain.error("rounding") < 1e-11 * plain.value());
}

TEST_CASE("no two of 64 neighbours hide from rounding", "[measurement]") {
  constexpr Index size = 64;
  const AnyRung<double> rung =
      problems::any_flow<double>(Vector<double>::Constant(size, 1.0),
                                 [](const Vector<double>& x, Vector<double>& dx) { dx = x; });
  const Solved solved(rung, {1}, 1e-10);
  const double least = std::exp(1) * std::numeric_limits<double>::epsilon();
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j < i; ++j) {
      const auto apart = [=](const Vector<double>& x) { return x[i] - x[j]; };
      const auto above = [=](const Vector<double>& x) { return x[i] + x[j] - 2 * std::exp(1); };
      CAPTURE(i, j);
      REQUIRE(solved.at(0, apart).error("rounding") > least);
      REQUIRE(solved.at(0, above).error("rounding") > least);
    }
  }
}

TEST_CASE("extrema of a whole trajectory are within their errors", "[measurement]") {
  const auto height = [](const Vector<double>& x) { return x[1]; };
  const Quantity top = largest_along(circle(), 7, 1e-8, height);
  CHECK(std::fabs(top.value() - 1) <= top.error());
  CHECK(top.error() < 0.05);
  const Quantity bottom = smallest_along(circle(), 7, 1e-8, height);
  CHECK(std::fabs(bottom.value() + 1) <= bottom.error());
  // At an end there is nothing between points.
  const Quantity rising = largest_along(circle(), 1, 1e-8, height);
  CHECK(std::fabs(rising.value() - std::sin(1)) <= rising.error());
  CHECK(rising.error("between points") == 0);
}

TEST_CASE("orders are extrapolated within their next order", "[measurement]") {
  for (const double order : {0.5, 1.0, 2.0}) {
    std::vector<double> h;
    std::vector<Quantity> e;
    for (double step = 0.4; step > 0.02; step /= 2) {
      h.push_back(step);
      e.emplace_back(std::pow(step, order) * (1 + 0.5 * step - 0.3 * step * step));
    }
    const Quantity found = order_in(h, e);
    CHECK(std::fabs(found.value() - order) <= found.error());
    CHECK(found.error() < 0.05);
  }
  const std::vector<double> uneven{1, 0.5, 0.3, 0.1};
  const std::vector<Quantity> values{1.0, 0.5, 0.3, 0.1};
  CHECK_THROWS_AS(order_in(uneven, values), std::invalid_argument);
  const std::vector<double> h{0.2, 0.1};
  const std::vector<Quantity> q{3.0 + 0.2 - 0.02, 3.0 + 0.1 - 0.005};
  const Quantity limit = limit_in(h, q);
  CHECK(std::fabs(limit.value() - 3) <= limit.error());
  CHECK(limit.error() < 0.1);
  // The linear correction of the last two is 0 here, and the limit is off by 0.004.
  const std::vector<double> three{0.4, 0.2, 0.1};
  const std::vector<Quantity> turning{2.992, 3.004, 3.004};
  const Quantity turned = limit_in(three, turning);
  CHECK(std::fabs(turned.value() - 3) <= turned.error());
}

TEST_CASE("limits and orders are taken further in a refinement", "[measurement]") {
  std::vector<double> asked;
  const auto measure = [&](double h) -> Quantity {
    asked.push_back(h);
    return 3 * h * (1 + 0.2 * h);
  };
  const Quantity usual = limit_of(measure, 0.5, 2, 3);
  CHECK(asked == std::vector{0.5, 0.25, 0.125});
  const Quantity order = order_of(measure, 0.5, 2, 3);
  asked.clear();
  const Refinement refinement;
  const Quantity sharper = limit_of(measure, 0.5, 2, 3);
  CHECK(asked == std::vector{0.5, 0.25, 0.125, 0.0625, 0.03125});
  CHECK(sharper.error() < usual.error() / 3);
  asked.clear();
  const Quantity sharper_order = order_of(measure, 0.5, 2, 3);
  CHECK(asked.size() == 5);
  CHECK(std::fabs(sharper_order.value() - 1) <= sharper_order.error());
  CHECK(sharper_order.error() < order.error() / 3);
  CHECK(refinement.made() == "limits two parameters further");
}

TEST_CASE("events are within their errors, with what rounding moves them by", "[measurement]") {
  // cos t passes a third, as the difference of two components that cancel.
  const auto passing = [](double large) {
    AnyRung<double> rung = problems::any_flow<double>(
        Vector<double>{{1 + large, 0, large}}, [](const Vector<double>& x, Vector<double>& dx) {
          dx[0] = -x[1];
          dx[1] = x[0] - x[2];
          dx[2] = 0;
        });
    const auto value = [](const Vector<double>& x, const double&) { return x[0] - x[2] - 1.0 / 3; };
    const auto height = [](const Vector<double>& x, const double&) { return x[1]; };
    rung.events = {{"passing", "x1", EventKind::crossing, value, height}};
    const Refinement refinement;
    return events_of(rung, 2, 1e-9).at(0);
  };
  const double exact = std::acos(1.0 / 3);
  for (const double large : {0.0, 1e6}) {
    CAPTURE(large);
    const FoundEvent found = passing(large);
    CHECK(std::fabs(found.time.value() - exact) <= found.time.error());
    CHECK(std::fabs(found.value.value() - std::sin(exact)) <= found.value.error());
    const double spacing = std::numeric_limits<double>::epsilon() * (1 + large);
    CHECK(found.time.error("rounding") > spacing);
    CHECK(found.time.error("rounding") < 1e4 * spacing);
    CHECK(found.value.error("rounding") > spacing / 4);
  }
}

TEST_CASE("a refinement sharpens solves", "[measurement]") {
  const auto read = [](const Vector<double>& x) { return x[0]; };
  const Quantity usual = Solved(circle(), {5}, 1e-8).at(0, read);
  const auto height = [](const Vector<double>& x) { return x[1]; };
  const Quantity usual_top = largest_along(circle(), 7, 1e-8, height);
  const Refinement refinement;
  const Quantity sharper = Solved(circle(), {5}, 1e-8).at(0, read);
  const Quantity sharper_top = largest_along(circle(), 7, 1e-8, height);
  CHECK(sharper.error("solver") < 1e-4 * usual.error("solver"));
  CHECK(sharper_top.error() < usual_top.error() / 10);
  CHECK(refinement.made() == "solves in double at tolerance 1e-14");
}

TEST_CASE("a request to stop ends a solve", "[measurement]") {
  const Deadline deadline(std::chrono::duration<double>(0));
  CHECK_THROWS_AS(Solved(circle(), {5}, 1e-8), Stopped);
  SolveRequest<double> request;
  request.end = 5;
  request.relative_tolerance = request.absolute_tolerance = 1e-8;
  CHECK_THROWS_AS(solve(circle(), request), Stopped);
  // Who follows the progress takes what there is.
  request.on_progress = [](double) { return false; };
  const Trajectory<double> run = solve(circle(), request);
  CHECK(run.outcome.ending == Ending::interrupted);
  CHECK(run.outcome.steps_taken == 0);
}

TEST_CASE("moments of samples cover the truth as often as they say", "[measurement]") {
  constexpr int repetitions = 1000;
  constexpr double false_alarm = 0.05;
  int missed = 0;
  for (int r = 0; r < repetitions; ++r) {
    Matrix<double> samples(400, 2);
    Stream stream(7, 1, static_cast<std::uint64_t>(r));
    for (Index i = 0; i < samples.rows(); ++i) {
      samples(i, 0) = 3 + 2 * stream.normal();
      samples(i, 1) = stream.normal();
    }
    const SampleMoments found = sample_moments(samples, false_alarm);
    const bool outside = std::fabs(found.mean[0].value() - 3) > found.mean[0].error() ||
                         std::fabs(found.mean[1].value()) > found.mean[1].error() ||
                         std::fabs(found.variance[0].value() - 4) > found.variance[0].error() ||
                         std::fabs(found.variance[1].value() - 1) > found.variance[1].error();
    missed += outside ? 1 : 0;
  }
  // Three deviations above the mean of 1000 at 5 %.
  CHECK(missed < 50 + 3 * 7);
  CHECK(missed > 10);
}

TEST_CASE("moments of samples share what may be missed among all of them", "[measurement]") {
  const SampleMoments found = sample_moments(Vector<double>{{1, 2, 3, 4, 5}}, 0.2);
  // A tenth for each: t of 4 degrees of freedom and a normal number, at 95 %.
  CHECK(found.mean[0].error() == Approx(2.131847 * std::sqrt(2.5 / 5)).epsilon(1e-6));
  CHECK(found.variance[0].error() ==
        Approx(1.644854 * std::sqrt((34.0 / 5 - 6.25) / 5)).epsilon(1e-6));
}

TEST_CASE("a share of successes has its exact interval", "[measurement]") {
  const Quantity none = success_probability(0, 100, 0.05);
  CHECK(none.value() - none.error() == Approx(0).margin(1e-15));
  CHECK(none.value() + none.error() == Approx(1 - std::pow(0.025, 0.01)));
  const Quantity half = success_probability(50, 100, 0.05);
  CHECK(half.value() == Approx(0.5));
  CHECK(half.error() == Approx(0.1017).epsilon(0.01));  // Clopper and Pearson 0.3983 to 0.6017
}

TEST_CASE("deviations of draws have the covariance of their law", "[measurement]") {
  AnyRung<double> rung = circle();
  rung.field.value = [](const Vector<double>&, Vector<double>& dx, const double&) { dx.setZero(); };
  rung.draws.sample = [](const Vector<double>& x, Vector<double>& dx, Stream& stream, Index) {
    const double first = stream.normal();
    dx[0] = x[0] * first;
    dx[1] = first + 2 * stream.normal();
  };
  const Vector<double> x{{3, 0}};
  const Matrix<double> draws = sampled_deviations(rung, x, 20000, 1, 0);
  const Matrix<double> found = draws * draws.transpose() / 20000;
  CHECK(found(0, 0) == Approx(9).epsilon(0.05));
  CHECK(found(0, 1) == Approx(3).epsilon(0.1));
  CHECK(found(1, 1) == Approx(5).epsilon(0.05));
  CHECK(sampled_deviations(rung, x, 10, 1, 1) != sampled_deviations(rung, x, 10, 1, 2));
}

}  // namespace measurement_test
