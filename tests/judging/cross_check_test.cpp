#include "judging/cross_check.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/scalars/random.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace cross_check_test {

using namespace popgrad;

namespace {

/// Random walks with drift: at step k mean `drift` k, deviation sqrt(k).
Trajectory<double> noise_run(std::uint64_t seed, double drift) {
  Stream stream(seed, 7, 0);
  Trajectory<double> run;
  run.columns = {"x"};
  double x = 0;
  for (int k = 0; k <= 40; ++k) {
    run.t.push_back(k);
    run.rows.push_back({x});
    x += drift + stream.normal();
  }
  return run;
}

std::vector<Trajectory<double>> ensemble(std::uint64_t first, int count) {
  std::vector<Trajectory<double>> runs;
  for (int r = 0; r < count; ++r) {
    runs.push_back(noise_run(first + static_cast<std::uint64_t>(r), 0.1));
  }
  return runs;
}

RecordedRun as_recorded(const Trajectory<double>& run) {
  RecordedRun made;
  made.label = "run";
  made.t = run.t;
  made.columns = run.columns;
  made.values.resize(1);
  for (const auto& row : run.rows) made.values[0].push_back(row[0]);
  return made;
}

}  // namespace

TEST_CASE("Student's bound is the tabulated quantile", "[cross-check]") {
  // t_{0.975} of 10 degrees of freedom, from any table.
  CHECK(two_sided_student_bound(10, 0.05, 1) == Approx(2.228138852).epsilon(1e-9));
}

TEST_CASE("a run of the same law stays in the band, with the probability promised",
          "[cross-check]") {
  const auto own = ensemble(1, 64);
  CrossCheckRequest request;
  request.false_alarm = 0.05;
  int outside = 0;
  double squares = 0;
  constexpr int trials = 400;
  for (std::uint64_t k = 0; k < trials; ++k) {
    const CrossCheck check =
        cross_check({as_recorded(noise_run(1000 + k, 0.1))}, own, nullptr, request);
    if (!check.consistent()) ++outside;
    squares += check.root_mean_square * check.root_mean_square;
  }
  // Bonferroni is an upper bound: at most 5 % up to three standard errors of 400 trials.
  CHECK(outside <= 0.05 * trials + 3 * std::sqrt(0.05 * 0.95 * trials));
  // All points but the first, which never differs, have variance near 1.
  CHECK(squares / trials == Approx(40.0 / 41).margin(0.2));
}

TEST_CASE("a drifting run departs, and the time is told", "[cross-check]") {
  const auto own = ensemble(1, 64);
  Trajectory<double> run = noise_run(5000, 0.1);
  for (std::size_t k = 20; k < run.rows.size(); ++k) {
    run.rows[k][0] += 20.0 * (static_cast<double>(k) - 19);
  }
  const CrossCheck check = cross_check({as_recorded(run)}, own, nullptr, {});
  CHECK_FALSE(check.consistent());
  REQUIRE(check.runs[0].first_departure() != nullptr);
  const double at = *check.runs[0].first_departure()->first_outside;
  CHECK(at >= 20);
  CHECK(at <= 23);
}

TEST_CASE("the mean of runs is measured by its own fluctuation, missing points by none",
          "[cross-check]") {
  const auto own = ensemble(1, 64);
  RecordedRun mean = as_recorded(noise_run(6000, 0.1));
  for (double& x : mean.values[0]) x /= 4;
  mean.averaged = 16;
  const CrossCheck as_mean = cross_check({mean}, own, nullptr, {});
  mean.averaged = 1;
  const CrossCheck as_one = cross_check({mean}, own, nullptr, {});
  CHECK(as_mean.root_mean_square > 3 * as_one.root_mean_square);
  mean.values[0][5] = std::nan("");
  CHECK(cross_check({mean}, own, nullptr, {}).looks == 40);
}

TEST_CASE("numbers whose last digit is larger than all that is expected still depart",
          "[cross-check]") {
  RecordedRun run = as_recorded(noise_run(6001, 0.1));
  for (double& x : run.values[0]) x = 1e308;
  run.digits = {digits_of(run.values[0])};
  CHECK_FALSE(cross_check({run}, ensemble(1, 64), nullptr, {}).consistent());
  // Such numbers that are less than half of the last digit are written as 0.
  for (double& x : run.values[0]) x = 0;
  CHECK(cross_check({run}, ensemble(1, 64), nullptr, {}).consistent());
}

TEST_CASE("rows that no run moves are measured by those that runs move", "[cross-check]") {
  // No run moves the rows from 31 on.
  auto own = ensemble(1, 64);
  for (Trajectory<double>& run : own) {
    for (std::size_t k = 31; k < run.rows.size(); ++k) run.rows[k][0] = 2;
  }
  RecordedRun run = as_recorded(own.front());
  run.values[0][35] += 9;
  const CrossCheck check = cross_check({run}, own, nullptr, {});
  // Row k has the variance k: the mean of 1 to 30 is 15.5, to the error of 64 correlated runs; and the
  // ensemble's mean has an error too.
  const double expected = 9 / std::sqrt(15.5 * (1 + 1.0 / 64));
  CHECK(check.runs[0].columns[0].deviation[35] == Approx(expected).epsilon(0.15));
}

TEST_CASE("many runs of a predicted law: the level, a band that is narrower, and what widens it",
          "[cross-check]") {
  PredictedRuns predicted{ensemble(1, 400), ensemble(5001, 400), {}, ensemble(9001, 32)};
  predicted.first.assign(predicted.second.begin(), predicted.second.begin() + 100);
  CrossCheckRequest request;
  request.false_alarm = 0.05;
  request.predicted = &predicted;
  int outside = 0;
  constexpr int trials = 400;
  for (std::uint64_t k = 0; k < trials; ++k) {
    const RecordedRun run = as_recorded(noise_run(20'000 + k, 0.1));
    if (!cross_check({run}, predicted.ensemble, nullptr, request).consistent()) ++outside;
  }
  CAPTURE(outside);
  CHECK(outside <= 0.05 * trials + 3 * std::sqrt(0.05 * 0.95 * trials));
  request.false_alarm = 3e-4;
  const RecordedRun run = as_recorded(noise_run(30'000, 0.1));
  const CrossCheck narrow = cross_check({run}, predicted.ensemble, nullptr, request);
  const CrossCheck wide = cross_check({run}, ensemble(1, 64), nullptr, {3e-4});
  CHECK(narrow.bound < 0.8 * wide.bound);
  // The means of 400 and of 32 runs' largest deviations, each to a few hundredths.
  CHECK(narrow.tail_bound < 6.5);

  // Sampled runs that reach 1.5 times as far widen the band by as much, to the errors of their means.
  for (Trajectory<double>& each : predicted.sampled) {
    for (std::size_t k = 0; k < each.rows.size(); ++k) {
      const double drift = 0.1 * static_cast<double>(k);
      each.rows[k][0] = drift + 1.5 * (each.rows[k][0] - drift);
    }
  }
  const CrossCheck further = cross_check({run}, predicted.ensemble, nullptr, request);
  CHECK(further.tail_bound / narrow.tail_bound == Approx(1.5).epsilon(0.15));

  // A mean that the second order moves by a tenth of a deviation is known no better than that.
  for (Trajectory<double>& each : predicted.first) each.rows[9][0] += 0.1 * 3;
  const CrossCheck unsure = cross_check({run}, predicted.ensemble, nullptr, request);
  const auto at = [](const CrossCheck& check) { return check.runs[0].columns[0].deviation[9]; };
  CHECK(at(unsure) / at(narrow) ==
        Approx(std::sqrt((1 + 1.0 / 400) / (1 + 1.0 / 400 + 0.01))).epsilon(2e-3));
  // Against the mean of another rung, which has no error of ours.
  const CrossCheck other = cross_check({run}, predicted.ensemble, &predicted.second[0], request);
  predicted.first.assign(predicted.second.begin(), predicted.second.begin() + 100);
  const CrossCheck same = cross_check({run}, predicted.ensemble, &predicted.second[0], request);
  CHECK(at(other) == at(same));
}

TEST_CASE("a prediction ends where its second order changes it by a quarter of a deviation",
          "[cross-check]") {
  const auto second = ensemble(1, 200);
  auto first = second;
  first.resize(50);
  CHECK_FALSE(prediction_ends(second, first, {"x"}, 1e-6).has_value());
  // At step k the deviation is sqrt(k), to a tenth: 0.35 of it is too much.
  for (Trajectory<double>& run : first) {
    run.rows[9][0] += 0.15 * 3;
    run.rows[16][0] += 0.35 * 4;
    run.rows[30][0] += 3;
  }
  CHECK(prediction_ends(second, first, {"x"}, 1e-6) == 16.0);
}

TEST_CASE("numbers that end are a departure where numbers are expected", "[cross-check]") {
  auto own = ensemble(1, 64);
  RecordedRun run = as_recorded(noise_run(1000, 0.1));
  run.gaps = {{.rows = 41, .missing = 20, .diverged = 21.0}};
  for (std::size_t k = 21; k < run.t.size(); ++k) run.values[0][k] = NAN;
  const CrossCheckRequest request;
  const CrossCheck check = cross_check({run}, own, nullptr, request);
  CHECK_FALSE(check.consistent());
  REQUIRE(check.runs[0].first_departure() != nullptr);
  CHECK(check.runs[0].first_departure()->first_outside == 21.0);
  CHECK(check.runs[0].columns[0].gaps.diverged == 21.0);
  CHECK(check.runs[0].columns[0].gaps.missing == 20);
  // Where the rung has none either nothing is missed.
  for (Trajectory<double>& other : own) {
    for (std::size_t k = 21; k < other.rows.size(); ++k) other.rows[k][0] = NAN;
  }
  CHECK(cross_check({run}, own, nullptr, request).consistent());
}

TEST_CASE("runs that escape are set aside, and those recorded that do are counted",
          "[cross-check]") {
  const auto escaping = [](Trajectory<double> run) {
    for (std::size_t k = 20; k < run.rows.size(); ++k) run.rows[k][0] += 500;
    return run;
  };
  auto own = ensemble(1, 64);
  const RecordedRun sound = as_recorded(noise_run(40'000, 0.1));
  const CrossCheck without = cross_check({sound}, own, nullptr, {});
  CHECK(without.escaped.own == 0);
  own[10] = escaping(own[10]);
  const CrossCheck aside = cross_check({sound}, own, nullptr, {});
  CHECK(aside.escaped.own == 1);
  CHECK(aside.escaped.recorded == 0);
  CHECK(aside.escaped.chance == 1);
  CHECK(aside.escaped.column == "x");
  CHECK(aside.escaped.time >= 20);
  CHECK(aside.consistent());
  CHECK(aside.bound == Approx(without.bound).epsilon(0.1));
  // A shift of 7 deviations at a row, which the deviation of all 64 runs, 62, hides.
  RecordedRun shifted = sound;
  shifted.values[0][30] += 7 * std::sqrt(30.0);
  CHECK_FALSE(cross_check({shifted}, own, nullptr, {}).consistent());

  // One of three recorded runs among two of 67: 1 - 64 63 / (67 66). Three of four: 64 / (67 66 65 64 / 24).
  std::vector<RecordedRun> recorded;
  for (std::uint64_t k = 0; k < 3; ++k) recorded.push_back(as_recorded(noise_run(41'000 + k, 0.1)));
  const RecordedRun escaped = as_recorded(escaping(noise_run(40'001, 0.1)));
  recorded[1] = escaped;
  const CrossCheck one = cross_check(recorded, own, nullptr, {});
  CHECK(one.escaped.recorded == 1);
  CHECK(one.escaped.chance == Approx(1 - 64.0 * 63 / (67.0 * 66)).epsilon(1e-10));
  CHECK(one.consistent());
  recorded = {escaped, as_recorded(escaping(noise_run(40'002, 0.1))),
              as_recorded(escaping(noise_run(40'003, 0.1)))};
  const CrossCheck all = cross_check(recorded, own, nullptr, {});
  CHECK(all.escaped.recorded == 3);
  CHECK(all.escaped.chance == Approx(64 * 24 / (67.0 * 66 * 65 * 64)).epsilon(1e-10));
  CHECK(all.escaped.departs);
  CHECK_FALSE(all.consistent());
}

TEST_CASE("setting escaped runs aside makes no false alarms", "[cross-check]") {
  // One run in twenty escapes, own or recorded.
  const auto run_of = [](std::uint64_t seed) {
    Trajectory<double> run = noise_run(seed, 0.1);
    Stream stream(seed, 8, 0);
    if (stream.uniform() > 0.05) return run;
    for (std::size_t k = 20; k < run.rows.size(); ++k) run.rows[k][0] += 500;
    return run;
  };
  CrossCheckRequest request;
  request.false_alarm = 0.05;
  int outside = 0, aside = 0;
  constexpr int trials = 400;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    std::vector<Trajectory<double>> own;
    for (std::uint64_t r = 0; r < 40; ++r) own.push_back(run_of(100'000 + 64 * trial + r));
    std::vector<RecordedRun> recorded;
    for (std::uint64_t r = 40; r < 43; ++r) {
      recorded.push_back(as_recorded(run_of(100'000 + 64 * trial + r)));
    }
    const CrossCheck check = cross_check(recorded, own, nullptr, request);
    if (check.escaped.own > 0) ++aside;
    if (!check.consistent()) ++outside;
  }
  CAPTURE(outside, aside);
  CHECK(aside > trials / 2);
  CHECK(outside <= 0.05 * trials + 3 * std::sqrt(0.05 * 0.95 * trials));
}

}  // namespace cross_check_test
