#include <Eigen/LU>
#include <catch2/catch.hpp>
#include <cmath>

#include "judging/score_test.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace score_test_test {

using namespace popgrad;

namespace {

constexpr Index rows = 12;

/// Random walks: the covariance of rows i and j is min(i, j) + 1. Run r of a stream, moved by `shift`.
Matrix<double> walks(std::uint64_t seed, Index runs, const Vector<double>& shift,
                     double scale = 1) {
  Matrix<double> made(rows, runs);
  for (Index r = 0; r < runs; ++r) {
    Stream stream(seed, 3, static_cast<std::uint64_t>(r));
    double x = 0;
    for (Index i = 0; i < rows; ++i) {
      x += scale * stream.normal();
      made(i, r) = x + shift[i];
    }
  }
  return made;
}

const Vector<double> none = Vector<double>::Zero(rows);

Matrix<double> exact_covariance() {
  Matrix<double> c(rows, rows);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < rows; ++j) c(i, j) = static_cast<double>(std::min(i, j) + 1);
  }
  return c;
}

Trajectory<double> trajectory(const Vector<double>& x) {
  Trajectory<double> run;
  run.columns = {"constant", "x"};
  for (Index i = 0; i < x.size(); ++i) {
    run.t.push_back(static_cast<double>(i));
    run.rows.push_back({2.5, x[i]});
  }
  return run;
}

}  // namespace

TEST_CASE("score test: weights are those of a dense inverse", "[score]") {
  const Matrix<double> runs = walks(1, 40, none);
  const Vector<double> shift = Vector<double>::LinSpaced(rows, 0.5, 2);
  // S of the header, written out, with the constant of Ledoit and Wolf from sums over rows.
  const Vector<double> mean = runs.rowwise().mean();
  const Matrix<double> centred = runs.colwise() - mean;
  const Matrix<double> c = centred * centred.transpose() / 40.0;
  const double level = c.trace() / rows;
  const Matrix<double> identity = Matrix<double>::Identity(rows, rows);
  const double apart = (c - level * identity).squaredNorm();
  double error = 0;
  for (Index r = 0; r < 40; ++r) {
    error += (centred.col(r) * centred.col(r).transpose() - c).squaredNorm() / (40.0 * 40.0);
  }
  const double lambda = error / apart;
  REQUIRE(lambda > 1e-3);
  REQUIRE(lambda < 1);
  const Matrix<double> s = (1 - lambda) * c + lambda * identity;
  const Vector<double> solved = s.inverse() * shift;
  const Vector<double> expected = solved / shift.dot(solved);
  const Vector<double> found = RunCorrelation::estimated(runs).weights(shift);
  CHECK((found - expected).norm() < 1e-10 * expected.norm());
  CHECK(found.dot(shift) == Approx(1).epsilon(1e-12));
}

TEST_CASE("score test: the level is kept, and estimates have their error", "[score][unsanitized]") {
  const Vector<double> shift = Vector<double>::LinSpaced(rows, 0.1, 1);
  const Vector<double> weights = RunCorrelation::estimated(walks(2, 64, none)).weights(shift);
  constexpr int trials = 2000;
  int outside = 0;
  double sum = 0, squares = 0, errors = 0;
  for (std::uint64_t k = 0; k < trials; ++k) {
    const ScoreTest test =
        score_test(weights, walks(1000 + k, 3, 0.7 * shift), walks(100'000 + k, 32, none), nullptr);
    REQUIRE(test.degrees_of_freedom == 31);
    const double off = (test.size - 0.7) / test.standard_error;
    if (std::fabs(off) > two_sided_student_bound(31, 0.05, 1)) ++outside;
    sum += test.size;
    squares += (test.size - 0.7) * (test.size - 0.7);
    errors += test.standard_error * test.standard_error;
  }
  // 100 expected; six standard deviations of a count are 58.
  CHECK(std::abs(outside - trials / 20) < 58);
  CHECK(sum / trials == Approx(0.7).margin(6 * std::sqrt(squares) / trials));
  // Variances: a relative error of sqrt(2/2000) each.
  CHECK(squares / errors == Approx(1).margin(0.2));
  // Against a mean that is known there is less uncertainty: 1/3 in place of 1/3 + 1/32.
  const Matrix<double> own = walks(7, 32, none);
  const ScoreTest sampled = score_test(weights, own.leftCols(3), own, nullptr);
  const ScoreTest exact = score_test(weights, own.leftCols(3), own, &none);
  CHECK(std::pow(exact.standard_error / sampled.standard_error, 2) ==
        Approx((1.0 / 3) / (1.0 / 3 + 1.0 / 32)).epsilon(1e-12));
}

TEST_CASE("score test: the error of a predicted law counts as that of fewer runs", "[score]") {
  const Vector<double> weights = Vector<double>::Unit(rows, 3);
  const Matrix<double> own = walks(7, 500, none);
  const Matrix<double> recorded = walks(8, 3, none);
  const ScoreTest exact = score_test(weights, recorded, own, nullptr);
  PredictionError error;
  error.wider = 1.1;
  error.correction = 0.15;
  error.unsure = 0.03;
  const ScoreTest unsure = score_test(weights, recorded, own, nullptr, nullptr, error);
  CHECK(exact.sampling == 1.0 / 500);
  CHECK(unsure.sampling == Approx(1.0 / 500 + 0.03).epsilon(1e-12));
  CHECK(
      unsure.standard_error / exact.standard_error ==
      Approx(1.1 * std::sqrt((1.0 / 3 + 1.0 / 500 + 0.03) / (1.0 / 3 + 1.0 / 500))).epsilon(1e-12));
  const double deviation = exact.standard_error / std::sqrt(1.0 / 3 + 1.0 / 500);
  CHECK(exact.size - unsure.size == Approx(0.15 * deviation).epsilon(1e-9));
  // What a centre of another rung says has no error of ours.
  const ScoreTest centred = score_test(weights, recorded, own, &none, nullptr, error);
  CHECK(centred.sampling == 0);
  CHECK(centred.size == score_test(weights, recorded, own, &none).size);
}

TEST_CASE("scatter test: against sampled runs by way of a prediction that is too narrow",
          "[score]") {
  // The prediction has half of the variance; neither the level nor the estimate may suffer.
  constexpr int trials = 2000;
  const double narrow = std::sqrt(0.5);
  const Matrix<double> predicted = walks(9, 1000, none, narrow);
  int small = 0, covered = 0;
  for (std::uint64_t k = 0; k < trials; ++k) {
    const ScatterTest sampled = scatter_test(walks(600'000 + k, 32, none), predicted);
    const auto test = [&](double scale) {
      return scatter_test(walks(700'000 + k, 4, none, scale), predicted).corrected_by(sampled);
    };
    if (test(1).chance() < 0.05) ++small;
    const Share ratio = test(1.5).interval(0.05);
    if (ratio.low <= 2.25 && 2.25 <= ratio.high) ++covered;
  }
  CAPTURE(small, covered);
  CHECK(small > trials / 40);
  CHECK(small < 3 * trials / 40);
  CHECK(trials - covered < 3 * trials / 40);
}

// Statistics: other cases make the same calls under the sanitizers.
TEST_CASE("score test: tails that are not normal do not raise false alarms",
          "[score][unsanitized]") {
  // Squares of normals, kurtosis 15: what a loss near its minimum is of.
  const auto squares = [](std::uint64_t seed, Index runs) {
    Matrix<double> made(1, runs);
    for (Index r = 0; r < runs; ++r) {
      made(0, r) = std::pow(Stream(seed, 4, static_cast<std::uint64_t>(r)).normal(), 2);
    }
    return made;
  };
  const Vector<double> one = Vector<double>::Ones(1);
  constexpr int trials = 2000;
  int beyond_student = 0, beyond_bound = 0, normal_beyond = 0;
  for (std::uint64_t k = 0; k < trials; ++k) {
    const ScoreTest test = score_test(one, squares(1000 + k, 3), squares(50'000 + k, 64), nullptr);
    if (std::fabs(test.statistic()) > two_sided_student_bound(63, 1e-3, 1)) ++beyond_student;
    if (std::fabs(test.statistic()) > test.bound(1e-3)) ++beyond_bound;
    const ScoreTest normal = score_test(one, walks(1000 + k, 3, none).topRows(1),
                                        walks(50'000 + k, 64, none).topRows(1), nullptr);
    if (std::fabs(normal.statistic()) > normal.bound(0.02)) ++normal_beyond;
    // What it costs where nothing is wrong with the tails.
    if (k == 0) CHECK(normal.bound(1e-3) < 1.4 * two_sided_student_bound(63, 1e-3, 1));
  }
  CAPTURE(beyond_student, beyond_bound, normal_beyond);
  CHECK(beyond_student > 10);  // five times the level
  CHECK(beyond_bound < 10);
  CHECK(normal_beyond > 10);
  CHECK(normal_beyond < 60);
}

TEST_CASE("score test: a skewed law has a bound on either side", "[score]") {
  const auto skewed = [](std::uint64_t seed, Index runs) {
    Matrix<double> made(1, runs);
    for (Index r = 0; r < runs; ++r) {
      const double z = Stream(seed, 5, static_cast<std::uint64_t>(r)).normal();
      made(0, r) = z + 0.12 * z * z;
    }
    return made;
  };
  constexpr Index many = 20'000;
  const Matrix<double> likely = skewed(2, many);
  ScoreTest test =
      score_test(Vector<double>::Ones(1), skewed(3, 3), skewed(1, many), nullptr, &likely);
  const double above = test.bound(2e-3, ScoreTest::Side::above);
  const double below = test.bound(2e-3, ScoreTest::Side::below);
  CHECK(above > 1.05 * below);
  CHECK(test.bound(2e-3) == above);
  test.size = 1;
  CHECK(test.bound_here(2e-3) == above);
  test.size = -1;
  CHECK(test.bound_here(2e-3) == below);
  // Of means of three, a thousandth beyond either.
  constexpr Index trials = 400'000;
  const double error = std::sqrt(1 + 2 * 0.12 * 0.12) / std::sqrt(3.0);
  int high = 0, low = 0;
  for (Index k = 0; k < trials; ++k) {
    Stream stream(4, 6, static_cast<std::uint64_t>(k));
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      const double z = stream.normal();
      sum += z + 0.12 * z * z;
    }
    const double t = (sum / 3 - 0.12) / error;
    high += t > above ? 1 : 0;
    low += -t > below ? 1 : 0;
  }
  CAPTURE(high, low);
  CHECK(high > 250);
  CHECK(high < 600);
  // The shorter tail is not given more than a normal one has.
  CHECK(low < 450);
}

TEST_CASE("score test: a shorter tail is bounded by itself as far as sampled runs vouch for it",
          "[score]") {
  // A half of squares, as a test of the batch is: nothing of it lies far above the mean.
  constexpr double curved = 0.12;
  const auto draw = [&](Stream& stream) {
    const double z = stream.normal();
    return z - curved * (z * z - 1);
  };
  const auto runs = [&](std::uint64_t seed, Index count) {
    Vector<double> made(count);
    Stream stream(seed, 7, 0);
    for (double& x : made) x = draw(stream);
    return made;
  };
  const Vector<double> likely = runs(1, 20'000);
  const PredictedNumber number{runs(2, 20'000), likely, likely.head(200), runs(3, 128)};
  const PredictionError error = prediction_error(number);
  const RunNumbers numbers{runs(4, 3), number.ensemble, &likely, {}};
  ScoreTest test = score_test(numbers, error);
  REQUIRE(test.sampled);
  CHECK(test.sampled->value == Approx(error.skewness / std::sqrt(3.0)));
  CHECK(test.sampled->error == Approx(std::sqrt(6.0 / 128 / 3)));
  // t of three runs, of known mean and deviation.
  constexpr Index trials = 400'000;
  std::vector<double> t(trials);
  Stream stream(5, 8, 0);
  const double deviation = std::sqrt((1 + 2 * curved * curved) / 3);
  for (double& x : t) x = (draw(stream) + draw(stream) + draw(stream)) / 3 / deviation;
  const double chance = 1e-3;
  const double student = two_sided_student_bound(test.degrees_of_freedom, 2 * chance, 1);
  double beyond = 0, least = INFINITY;
  constexpr int sets = 40;
  for (std::uint64_t k = 0; k < sets; ++k) {
    test.sampled->value =
        prediction_error({number.ensemble, likely, number.first, runs(100 + k, 128)}).skewness /
        std::sqrt(3.0);
    const double above = test.bound(2 * chance, ScoreTest::Side::above);
    least = std::min(least, above);
    beyond += static_cast<double>(
                  std::count_if(t.begin(), t.end(), [&](double x) { return x > above; })) /
              (sets * static_cast<double>(trials));
    CHECK(test.bound(2 * chance, ScoreTest::Side::below) > student);
  }
  CAPTURE(beyond, least, student);
  // Kept on average over sampled runs, and not by much: of a normal tail it would be a quarter.
  CHECK(beyond < 1.2 * chance);
  CHECK(beyond > 0.5 * chance);
  CHECK(least < 0.93 * student);
  // Sampled runs that say otherwise, or none, leave Student's bound.
  test.sampled->value = 0.4;
  CHECK(test.bound(2 * chance, ScoreTest::Side::above) > student);
  test.sampled.reset();
  CHECK(test.bound(2 * chance, ScoreTest::Side::above) >= student);
  CHECK_FALSE(score_test(numbers).sampled);
}

TEST_CASE("score test: nearly as sharp as the likelihood ratio, sharper than any row", "[score]") {
  // A shift of the increments: rows far apart know more together than each alone.
  Vector<double> shift = Vector<double>::LinSpaced(rows, 0.1, 0.1 * rows);
  shift[3] += 0.5;
  const Matrix<double> c = exact_covariance();
  const double best = 1 / std::sqrt(shift.dot(c.inverse() * shift));  // error of one run
  double row = INFINITY;
  for (Index i = 0; i < rows; ++i) row = std::min(row, std::sqrt(c(i, i)) / std::fabs(shift[i]));
  const Vector<double> few = RunCorrelation::estimated(walks(3, 32, none)).weights(shift);
  const Vector<double> many = RunCorrelation::estimated(walks(3, 1000, none)).weights(shift);
  const double with_few = std::sqrt(few.dot(c * few));
  const double with_many = std::sqrt(many.dot(c * many));
  CAPTURE(best, with_few, with_many, row);
  CHECK(with_many < 1.1 * best);
  CHECK(with_few < 1.6 * best);
  CHECK(with_few < 0.7 * row);
  // Predicted by many likely runs, in whatever unit of the noise.
  const Matrix<double> likely_runs = 7 * walks(10, 4000, none);
  const Vector<double> known =
      RunCorrelation::predicted(likely_runs, walks(3, 32, none), shift).weights(shift);
  const double with_prediction = std::sqrt(known.dot(c * known));
  CAPTURE(with_prediction);
  CHECK(known.dot(shift) == Approx(1).epsilon(1e-12));
  CHECK(with_prediction < 1.05 * best);
}

TEST_CASE("score test: what a prediction leaves out does not blunt it", "[score]") {
  // Walks and, in every row, noise of its own that the prediction knows nothing of.
  const Matrix<double> c = exact_covariance();
  const Matrix<double> noise = 4 * Matrix<double>::Identity(rows, rows);
  Matrix<double> runs = walks(5, 64, none);
  for (Index r = 0; r < runs.cols(); ++r) {
    Stream stream(5, 5, static_cast<std::uint64_t>(r));
    for (Index i = 0; i < rows; ++i) runs(i, r) += 2 * stream.normal();
  }
  const Vector<double> shift = Vector<double>::Ones(rows);
  const Matrix<double> whole = c + noise;
  const auto error = [&](const Vector<double>& w) { return std::sqrt(w.dot(whole * w)); };
  const double best = 1 / std::sqrt(shift.dot(whole.inverse() * shift));
  const Vector<double> blind = c.inverse() * shift / shift.dot(c.inverse() * shift);
  CHECK(error(blind) > 1.2 * best);
  const RunCorrelation found = RunCorrelation::predicted(walks(10, 4000, none), runs, shift);
  CHECK(error(found.weights(shift)) < 1.1 * best);
  CHECK(found.is_predicted());
  CHECK_FALSE(RunCorrelation::estimated(runs).is_predicted());
  // In its sums the noise is the same everywhere, and none has to do with another.
  const Matrix<double> sums = found.uncorrelated(Matrix<double>::Identity(rows, rows));
  Matrix<double> left = sums * whole * sums.transpose();
  left /= left.trace() / rows;
  CHECK((left - Matrix<double>::Identity(rows, rows)).norm() < 0.7);
}

TEST_CASE("scatter test: the level is kept, and a factor is found", "[score]") {
  constexpr int trials = 2000;
  int small = 0, covered = 0;
  for (std::uint64_t k = 0; k < trials; ++k) {
    const Index runs = k % 2 == 0 ? 1 : 4;
    const Matrix<double> own = walks(200'000 + k, 64, none);
    if (scatter_test(walks(5000 + k, runs, none), own).chance() < 0.05) ++small;
    // Deviations 1.5 times as large: the variance 2.25 times.
    const Share ratio = scatter_test(walks(9000 + k, runs, none, 1.5), own).interval(0.05);
    if (ratio.low <= 2.25 && 2.25 <= ratio.high) ++covered;
  }
  CAPTURE(small, covered);
  // Satterthwaite's is an approximation: between 2.5 and 7.5 % where 5 are promised.
  CHECK(small > trials / 40);
  CHECK(small < 3 * trials / 40);
  CHECK(trials - covered < 3 * trials / 40);
  // The squares of rows that move together are few numbers; those of uncorrelated sums are twelve.
  const RunCorrelation known = RunCorrelation::predicted(walks(10, 4000, none), walks(6, 32, none),
                                                         Vector<double>::Ones(rows));
  int alarms = 0, found = 0, found_in_rows = 0;
  for (std::uint64_t k = 0; k < trials; ++k) {
    const Matrix<double> own = walks(300'000 + k, 64, none);
    const Matrix<double> runs = walks(400'000 + k, 4, none, 1.4);
    const Matrix<double> sums = known.uncorrelated(own);
    const auto chance = [&](const Matrix<double>& recorded) {
      return scatter_test(known.uncorrelated(recorded), sums).chance();
    };
    if (chance(walks(500'000 + k, 4, none)) < 0.01) ++alarms;
    if (chance(runs) < 0.01) ++found;
    if (scatter_test(runs, own).chance() < 0.01) ++found_in_rows;
  }
  CAPTURE(alarms, found, found_in_rows);
  CHECK(alarms < trials / 50);
  CHECK(found > trials / 2);
  CHECK(found_in_rows < trials / 4);
  const Matrix<double> own = walks(8, 64, none);
  const ScatterTest wide = scatter_test(walks(9, 30, none, 3), own);
  CAPTURE(wide.ratio, wide.recorded_freedom, wide.own_freedom);
  CHECK(wide.chance() < 1e-4);
  // Against the variances at the ends of its interval a ratio has the chance that the interval leaves.
  for (const double level : {0.05, 0.3}) {
    const Share ends = wide.interval(level);
    for (const double end : {ends.low, ends.high}) {
      const ScatterTest at_end{wide.ratio / end, wide.recorded_freedom, wide.own_freedom};
      CHECK(at_end.chance() == Approx(level));
    }
  }
}

TEST_CASE("scatter test: a chance counted over runs is that of their law", "[score]") {
  const Matrix<double> own = walks(13, 1024, none);
  constexpr std::uint64_t draws = 20'000;
  const auto scatter = [](const Matrix<double>& runs) {
    return (runs.colwise() - runs.rowwise().mean()).squaredNorm();
  };
  for (const double scale : {0.8, 1.5, 1.9}) {
    const Matrix<double> recorded = walks(14, 3, none, scale);
    double above = 0;
    for (std::uint64_t draw = 0; draw < draws; ++draw)
      above += scatter(walks(20'000 + draw, 3, none)) >= scatter(recorded) ? 1. / draws : 0;
    CAPTURE(scale, above);
    // The 1024 runs know the law of scatters to their root.
    CHECK(counted_chance(recorded, own) ==
          Approx(2 * std::min(above, 1 - above)).epsilon(0.2).margin(1e-3));
  }
  // Where one run of 25 is ten times as large, another such run is no rarity.
  Matrix<double> heavy = own;
  for (Index run = 0; run < heavy.cols(); run += 25) heavy.col(run) *= 10;
  const Matrix<double> recorded = walks(16, 1, none, 10);
  CHECK(counted_chance(recorded, heavy) > 1e-3);
  CHECK(counted_chance(recorded, own) < 1e-4);
  CHECK(counted_chance(walks(15, 300, none), own) == 0);
}

TEST_CASE("score test: numbers that do not fluctuate or are not logged are left out", "[score]") {
  std::vector<Trajectory<double>> spread;
  const Matrix<double> runs = walks(4, 10, none);
  for (Index r = 0; r < 10; ++r) spread.push_back(trajectory(runs.col(r)));
  RecordedRun run;
  run.label = "run";
  run.t = spread.front().t;
  run.columns = {"constant", "x"};
  run.values.resize(2);
  for (const auto& row : spread.front().rows) {
    run.values[0].push_back(row[0]);
    run.values[1].push_back(row[1]);
  }
  run.values[1][5] = NAN;
  RecordedRun average = run;
  average.averaged = 2;
  const LoggedNumbers logged({run, average}, spread, 1e-6);
  CHECK(logged.size() == rows - 1);
  const Matrix<double> recorded = logged.of(std::vector<RecordedRun>{run, average});
  REQUIRE(recorded.cols() == 1);
  CHECK((recorded.col(0) - logged.of(spread).col(0)).norm() == 0);
  // In units of the deviation over runs.
  const Matrix<double> all = logged.of(spread);
  const Vector<double> off = all.row(2).transpose().array() - all.row(2).mean();
  CHECK(off.squaredNorm() / 9 == Approx(1).epsilon(1e-12));
  CHECK(logged.level_of(0, 0, 1).isZero());
  CHECK(logged.level_of(1, 0, 1).sum() == rows - 1);
  CHECK(logged.level_of(1, 0, 2).sum() + logged.level_of(1, 1, 2).sum() == rows - 1);
}

}  // namespace score_test_test
