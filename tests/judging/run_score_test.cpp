#include "judging/run_score.hpp"

#include <Eigen/LU>
#include <catch2/catch.hpp>
#include <cmath>

#include "judging/score_test.hpp"
#include "popgrad/scalars/random.hpp"

namespace run_score_test {

using namespace popgrad;

namespace {

Matrix<double> normals(std::uint64_t seed, Index numbers, Index runs) {
  Matrix<double> made(numbers, runs);
  for (Index r = 0; r < runs; ++r) {
    Stream stream(seed, 6, static_cast<std::uint64_t>(r));
    for (Index i = 0; i < numbers; ++i) made(i, r) = stream.normal();
  }
  return made;
}

// Logarithm of the normal density of the moments of these runs, at y.
double log_density(const Matrix<double>& runs, const Vector<double>& y) {
  const Vector<double> mean = runs.rowwise().mean();
  const Matrix<double> off = runs.colwise() - mean;
  const Matrix<double> covariance = off * off.transpose() / static_cast<double>(runs.cols());
  return -0.5 *
         ((y - mean).dot(covariance.inverse() * (y - mean)) + std::log(covariance.determinant()));
}

}  // namespace

TEST_CASE("run score: the derivative of the log density along a fault", "[score]") {
  // Runs x move to x + change (d + B (x - m)): means and covariance alike.
  Matrix<double> runs = normals(1, 3, 200);
  runs.row(1) += 0.8 * runs.row(0);
  runs.row(2) *= 0.3;
  const Vector<double> shift = Vector<double>::LinSpaced(3, 0.2, -0.1);
  Matrix<double> stretch(3, 3);
  stretch << 0.3, 0.1, 0, -0.2, 0.1, 0.4, 0, 0.05, -0.2;
  const Vector<double> mean = runs.rowwise().mean();
  const auto with = [&](double change) -> Matrix<double> {
    const Matrix<double> moved = change * stretch * (runs.colwise() - mean);
    return (runs + moved).colwise() + change * shift;
  };
  constexpr double change = 1e-5;
  const LikelyRuns law(runs);
  // Twice the same runs, so that both halves are.
  const auto twice = [](const Matrix<double>& once) {
    Matrix<double> made(once.rows(), 2 * once.cols());
    made << once, once;
    return made;
  };
  const auto score =
      FaultShift(law, twice(runs), twice(with(change)), change, true).score(0, ScoreKind::laws);
  REQUIRE(score);
  CHECK(score->is_of_laws());
  // In units of the fault.
  CHECK((score->of(with(change)).mean() - score->of(runs).mean()) / change ==
        Approx(1).epsilon(1e-6));
  const Matrix<double> at = 1.5 * normals(2, 3, 6);
  Vector<double> expected(6);
  for (Index k = 0; k < 6; ++k) {
    expected[k] = (log_density(with(change), at.col(k)) - log_density(with(-change), at.col(k))) /
                  (2 * change);
  }
  const Vector<double> found = score->of(at);
  // Up to a constant, and divided by the information.
  const double information = (expected[1] - expected[0]) / (found[1] - found[0]);
  CHECK(information > 0);
  for (Index k = 2; k < 6; ++k) {
    CHECK(information * (found[k] - found[0]) == Approx(expected[k] - expected[0]).epsilon(1e-3));
  }

  // Of means alone: S^-1 d/(d'S^-1 d), with the lambda of the header.
  const Matrix<double> off = runs.colwise() - mean;
  const Matrix<double> covariance = off * off.transpose() / 200;
  const Matrix<double> s =
      covariance + 0.1 * covariance.trace() / 3 * Matrix<double>::Identity(3, 3);
  const Vector<double> solved = s.inverse() * shift;
  const auto of_means =
      FaultShift(law, twice(runs), twice(with(change)), change, false).score(0.1, ScoreKind::means);
  REQUIRE(of_means);
  CHECK_FALSE(of_means->is_of_laws());
  const Vector<double> weights = of_means->of(Matrix<double>::Identity(3, 3));
  CHECK((weights - solved / shift.dot(solved)).norm() < 1e-6 * weights.norm());

  // Squares with a lambda of their own: the odd part about the mean is that of the sums, the even one of the
  // squares.
  const FaultShift both(law, twice(runs), twice(with(change)), change, true);
  const auto parts = [&](const RunScore& of, double sign) {
    const Matrix<double> ahead = at.colwise() + mean, behind = (-at).colwise() + mean;
    return Vector<double>(of.of(ahead) + sign * of.of(behind));
  };
  const auto parallel = [](const Vector<double>& a, const Vector<double>& b) {
    return std::fabs(a.dot(b)) / (a.norm() * b.norm());
  };
  for (const ScoreKind kind : {ScoreKind::stretch, ScoreKind::laws}) {
    const auto mixed = both.score(0.1, kind, 1.0);
    const auto sums = both.score(0.1, kind);
    const auto squares = both.score(1.0, kind);
    REQUIRE((mixed && sums && squares));
    CHECK(parallel(parts(*mixed, -1), parts(*sums, -1)) == Approx(1).epsilon(1e-9));
    CHECK(parallel(parts(*mixed, -1), parts(*squares, -1)) < 1 - 1e-6);
    CHECK(parallel(parts(*mixed, 1), parts(*squares, 1)) == Approx(1).epsilon(1e-9));
    CHECK((mixed->of(with(change)).mean() - mixed->of(runs).mean()) / change ==
          Approx(1).epsilon(1e-6));
  }

  CHECK_FALSE(FaultShift(law, runs, runs, 1, true).score(0.1, ScoreKind::laws));
  CHECK_THROWS_AS(FaultShift(law, runs, runs.leftCols(3), 1, true), std::invalid_argument);
}

TEST_CASE("run score: what only changes how runs fluctuate is found, at its level", "[score]") {
  // Twelve numbers, a fault that stretches each of them by 1 + size.
  constexpr Index numbers = 12;
  const Matrix<double> runs = normals(3, numbers, 1000);
  const LikelyRuns law(runs);
  const FaultShift stretched(law, runs, 1.05 * runs, 0.05, true);
  const auto score = stretched.score(0.01, ScoreKind::stretch);
  REQUIRE(score);
  // D is a multiple of C here; from 500 runs it is known well enough to be that.
  const auto all = stretched.score(0.01, ScoreKind::laws);
  REQUIRE(all);
  const Matrix<double> some = normals(5, numbers, 50);
  CHECK((score->of(some) - all->of(some)).norm() < 0.3 * score->of(some).norm());
  CHECK_THROWS_AS(FaultShift(law, runs, 1.05 * runs, 0.05, false).score(0.1, ScoreKind::laws),
                  std::logic_error);
  const Vector<double> of_likely = score->of(runs);
  const Vector<double> own = score->of(normals(4, numbers, 1000));
  // All of it but the size is the same for any three runs.
  const ScoreTest same = score_test({score->of(runs.leftCols(3)), own, &of_likely, {}});
  constexpr int trials = 4000;
  constexpr double chance = 0.02;
  const double bound = same.bound(2 * chance, ScoreTest::Side::above) * same.standard_error;
  int alarms = 0, found = 0;
  for (std::uint64_t k = 0; k < trials; ++k) {
    const Matrix<double> recorded = normals(10'000 + k, numbers, 3);
    const auto departs = [&](double stretch) {
      return score->of(stretch * recorded).mean() - own.mean() > bound;
    };
    alarms += departs(1) ? 1 : 0;
    found += departs(1.4) ? 1 : 0;
  }
  // 80 expected of a test with exact tails, and never more than six deviations of a count above.
  CHECK(alarms < 80 + 54);
  CHECK(alarms > 20);
  // Of 36 squares the variance is known to a factor e^(2/sqrt(2 * 36)) = 1.27; here it is 1.96.
  CHECK(found > trials * 3 / 4);
}

}  // namespace run_score_test
