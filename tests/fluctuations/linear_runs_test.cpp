#include "popgrad/fluctuations/linear_runs.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"

namespace linear_runs_test {

using namespace popgrad;

namespace {

constexpr double coupling = 0.3;

// x' = -A x + c x_0^2, draws with a covariance that grows with x_0, seen through a linear and a curved
// column.
struct Toy {
  double growth = 0, curvature = 0;
  Vector<double> start = Vector<double>{{1.0, -0.5}};

  [[nodiscard]] AnyRung<double> rung() const {
    AnyRung<double> any;
    any.dimension = 2;
    any.initial = start;
    any.observables.columns = {"sum", "square"};
    any.field.value = [c = curvature](const Vector<double>& x, Vector<double>& dx, const double&) {
      dx = Vector<double>{{-x[0] + coupling * x[1] + c * x[0] * x[0], -2 * x[1]}};
    };
    any.draws.covariance = [g = growth](const Vector<double>& x, const Matrix<double>& vectors,
                                        Matrix<double>& images) {
      const Matrix<double> sigma{{1 + g * x[0] * x[0], 0.2}, {0.2, 0.5}};
      images = sigma * vectors;
    };
    any.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
      row[0] = x[0] + 2 * x[1];
      row[1] = x[0] * x[0];
    };
    return any;
  }
};

struct RowLaw {
  Vector<double> mean;
  Matrix<double> covariance;  // of the first column
};

// Of the first column, which is linear: step by step, without blocks. J is linear in the state, so that
// its mean is that of the mean; of Sigma, to second order, x_0^2 has the mean x_0^2 + C_00.
RowLaw step_by_step(const Toy& toy, const LinearRunsRequest& r) {
  const AnyRung<double> rung = toy.rung();
  const double eta = r.step_size;
  const Vector<double> h{{1.0, 2.0}};
  const auto rows = static_cast<Index>(r.save_steps.size());
  Vector<double> x = rung.initial;
  Vector<double> dx(2);
  Matrix<double> c = Matrix<double>::Zero(2, 2);
  Matrix<double> with_rows = Matrix<double>::Zero(2, rows);
  RowLaw law{Vector<double>(rows), Matrix<double>(rows, rows)};
  std::uint64_t now = 0;
  for (Index row = 0; row < rows; ++row) {
    for (; now < r.save_steps[static_cast<std::size_t>(row)]; ++now) {
      const Matrix<double> step{{1 - eta + 2 * eta * toy.curvature * x[0], eta * coupling},
                                {0, 1 - 2 * eta}};
      Matrix<double> sigma;
      rung.draws.covariance(x, Matrix<double>::Identity(2, 2), sigma);
      if (r.order == LinearOrder::second) sigma(0, 0) += toy.growth * c(0, 0);
      rung.field.value(x, dx, 0.0);
      dx[0] += toy.curvature * c(0, 0);
      x += eta * dx;
      c = (step * c * step.transpose() + eta * eta / static_cast<double>(r.batch) * sigma).eval();
      with_rows = (step * with_rows).eval();
    }
    with_rows.col(row) = c * h;
    law.mean[row] = h.dot(x);
    for (Index k = 0; k <= row; ++k) {
      law.covariance(row, k) = law.covariance(k, row) = h.dot(with_rows.col(k));
    }
  }
  return law;
}

// Largest difference of the mean, and of the covariance of rows, in units of their deviations.
struct Apart {
  double mean = 0, covariance = 0;
};
Apart apart(const Matrix<double>& seen, const RowLaw& law) {
  const auto count = static_cast<double>(seen.cols());
  const Vector<double> mean = seen.rowwise().mean();
  const Matrix<double> off = seen.colwise() - mean;
  const Matrix<double> covariance = off * off.transpose() / (count - 1);
  const Vector<double> deviation = law.covariance.diagonal().cwiseSqrt();
  return {(mean - law.mean).cwiseQuotient(deviation).lpNorm<Eigen::Infinity>(),
          (covariance - law.covariance)
              .cwiseQuotient(deviation * deviation.transpose())
              .lpNorm<Eigen::Infinity>()};
}

}  // namespace

TEST_CASE("linear runs: blocks of steps are the steps, where draws are alike", "[moments]") {
  constexpr Index count = 20'000;
  const LinearRunsRequest request{0.01, 4, {1, 7, 130, 131, 400}, count, 3};
  const Toy linear;
  const auto runs = linear_runs(linear.rung(), request);
  const Apart error = apart(curves(runs, "sum"), step_by_step(linear, request));
  // Five deviations of a mean and of a covariance.
  CHECK(error.mean < 5 / std::sqrt(count));
  CHECK(error.covariance < 5 * std::sqrt(2.0 / count));
  // Curved observables are those of each run's own state.
  const Matrix<double> squares = curves(runs, "square");
  CHECK(squares.minCoeff() >= 0);
  CHECK(runs.front().t == std::vector<double>{0.01, 0.07, 1.3, 1.31, 4.0});
  CHECK(runs.front().columns == linear.rung().observables.columns);
}

TEST_CASE("linear runs: draws that change, and the drift that noise causes", "[moments]") {
  constexpr Index count = 20'000;
  const Toy curved{3.0, 0.4};
  LinearRunsRequest request{0.08, 1, {15, 30, 50}, count, 4};  // blocks of one step
  const Matrix<double> seen = curves(linear_runs(curved.rung(), request), "sum");
  const RowLaw law = step_by_step(curved, request);
  const Apart error = apart(seen, law);
  CHECK(error.mean < 5 / std::sqrt(count));
  CHECK(error.covariance < 5 * std::sqrt(2.0 / count));
  // It would see noise of another size, or no drift.
  CHECK(apart(seen, step_by_step({2.0, 0.4}, request)).covariance > 0.07);
  RowLaw descent = law;
  request.batch = 2'000'000'000;
  descent.mean = step_by_step(curved, request).mean;
  CHECK(apart(seen, descent).mean > 0.1);
  // Longer blocks: what changes within one is left out.
  const LinearRunsRequest longer{0.01, 4, {100, 200, 400}, count, 4};
  const Apart blocks =
      apart(curves(linear_runs(curved.rung(), longer), "sum"), step_by_step(curved, longer));
  CHECK(blocks.mean < 0.06);
  CHECK(blocks.covariance < 0.08);
}

TEST_CASE("linear runs: to second order, draws of the states that fluctuate", "[moments]") {
  constexpr Index count = 20'000;
  const Toy curved{3.0, 0.4};
  LinearRunsRequest request{0.08, 1, {15, 30, 50}, count, 4, LinearOrder::second};
  const Matrix<double> seen = curves(linear_runs(curved.rung(), request), "sum");
  const RowLaw law = step_by_step(curved, request);
  const Apart error = apart(seen, law);
  CHECK(error.mean < 5 / std::sqrt(count));
  CHECK(error.covariance < 5 * std::sqrt(2.0 / count));
  request.order = LinearOrder::first;
  CHECK(apart(seen, step_by_step(curved, request)).covariance > 0.07);
  // In longer blocks the drift is that of their middle, and not of their begin.
  // Blocks of 62 steps: the first begins without a covariance, and so, to first order, without a drift.
  const Toy resting{0, 0.4, Vector<double>::Zero(2)};
  LinearRunsRequest longer{0.01, 1, {62, 4000}, count, 4, LinearOrder::second};
  const auto mean_of_blocks = [&](LinearOrder order) {
    longer.order = order;
    return curves(linear_runs(resting.rung(), longer), "sum").row(0).mean();
  };
  // The same draws: what differs is the drift alone.
  const double drift = mean_of_blocks(LinearOrder::second) - mean_of_blocks(LinearOrder::first);
  // Half a block's drift comes a quarter of a block, 0.155, late: by as much it decays too little.
  CHECK(drift == Approx(step_by_step(resting, longer).mean[0]).epsilon(0.2));
}

TEST_CASE("linear runs: the same draws for other settings, others for another seed", "[moments]") {
  const Toy toy;
  const LinearRunsRequest request{0.01, 4, {100}, 50, 1};
  const Matrix<double> one = curves(linear_runs(toy.rung(), request), "sum");
  LinearRunsRequest larger = request;
  larger.batch = 16;
  const Matrix<double> half = curves(linear_runs(toy.rung(), larger), "sum");
  const double path = step_by_step(toy, request).mean[0];
  CHECK((2 * (half.array() - path) - (one.array() - path)).abs().maxCoeff() < 1e-9);
  larger.seed = 2;
  CHECK((curves(linear_runs(toy.rung(), larger), "sum") - half).norm() > 1e-3);
  AnyRung<double> unknown = toy.rung();
  unknown.draws.covariance = nullptr;
  CHECK_THROWS_AS(linear_runs(unknown, request), std::invalid_argument);
}

TEST_CASE("linear runs: covariances of rows are those of Ornstein and Uhlenbeck", "[moments]") {
  // x' = -x with draws of variance 1, in small steps: at rest the correlation is exp(-|t - s|).
  AnyRung<double> rung;
  rung.dimension = 1;
  rung.initial = Vector<double>::Zero(1);
  rung.observables.columns = {"x", "triple"};
  rung.field.value = [](const Vector<double>& x, Vector<double>& dx, const double&) { dx = -x; };
  rung.draws.covariance = [](const Vector<double>&, const Matrix<double>& vectors,
                             Matrix<double>& images) { images = vectors; };
  rung.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = x[0];
    row[1] = 3 * x[0];
  };
  LinearRunsRequest request;
  request.step_size = 1e-3;
  request.batch = 4;
  request.save_steps = {10000, 10500, 12000};
  const LinearCovariance found = linear_covariance(rung, request);
  REQUIRE(found.covariance.rows() == 6);
  CHECK(found.t[1] == Approx(10.5));
  // eta/B/(2 - eta), whatever is left of the start.
  const double variance = 1e-3 / 4 / (2 - 1e-3);
  for (Index k = 0; k < 3; ++k) {
    for (Index l = 0; l < 3; ++l) {
      const double apart =
          std::fabs(found.t[static_cast<std::size_t>(k)] - found.t[static_cast<std::size_t>(l)]);
      // (1 - eta)^(apart/eta)
      const double expected = variance * std::exp(apart / 1e-3 * std::log1p(-1e-3));
      INFO("rows " << k << " and " << l);
      CHECK(found.covariance(2 * k, 2 * l) == Approx(expected).epsilon(1e-6));
      CHECK(found.covariance(2 * k + 1, 2 * l) == Approx(3 * expected).epsilon(1e-6));
      CHECK(found.covariance(2 * k + 1, 2 * l + 1) == Approx(9 * expected).epsilon(1e-6));
      CHECK(expected / variance == Approx(std::exp(-apart)).epsilon(2e-3));
    }
  }
}

TEST_CASE("linear runs: covariances of rows are those of many runs", "[moments]") {
  const Toy toy{0.3, 0.1};
  LinearRunsRequest request;
  request.step_size = 0.02;
  request.batch = 50;
  request.save_steps = {20, 60, 100};
  request.runs = 4000;
  request.seed = 3;
  const std::vector<Trajectory<double>> runs = linear_runs(toy.rung(), request);
  Matrix<double> numbers(6, request.runs);
  for (Index r = 0; r < request.runs; ++r) {
    for (Index k = 0; k < 6; ++k) {
      numbers(k, r) = runs[static_cast<std::size_t>(r)]
                          .rows[static_cast<std::size_t>(k / 2)][static_cast<std::size_t>(k % 2)];
    }
  }
  numbers.colwise() -= numbers.rowwise().mean().eval();
  const Matrix<double> seen = numbers * numbers.transpose() / 3999.0;
  const Matrix<double> known = linear_covariance(toy.rung(), request).covariance;
  for (Index k = 0; k < 6; ++k) {
    for (Index l = 0; l < 6; ++l) {
      INFO("numbers " << k << " and " << l);
      // Statistics of 4000 runs; the square is curved.
      CHECK(std::fabs(known(k, l) - seen(k, l)) < 0.1 * std::sqrt(known(k, k) * known(l, l)));
    }
  }
}

}  // namespace linear_runs_test
