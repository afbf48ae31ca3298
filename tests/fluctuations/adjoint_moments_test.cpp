/// Moments by adjoints, against those of the full covariance and against closed forms.

#include "popgrad/fluctuations/adjoint_moments.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"

namespace adjoint_moments_test {

using namespace popgrad;

namespace {

// f_i = -p_i (k_i x_i + bend x_i^2 + coupling sum_j x_j), p_i the rate; `twist` times x_{i+1} is no
// gradient. Noise of variance p_i^2 (1 + x_i^2), independent. Observables: sum, sum of squares.
AnyRung<double> wells(Index n, double bend, double coupling, double twist = 0) {
  AnyRung<double> rung;
  rung.dimension = n;
  rung.initial = Vector<double>::LinSpaced(n, 0.5, 1.0);
  rung.field.rates = Vector<double>::LinSpaced(n, 0.5, 1.5);
  const Vector<double> rates = rung.field.rates;
  rung.observables.columns = {"sum", "square"};
  rung.state_names = StateNames::made_by([n] {
    std::vector<std::string> names;
    for (Index i = 0; i < n; ++i) names.push_back("x_" + std::to_string(i));
    return names;
  });
  rung.field.value = [=](const Vector<double>& x, Vector<double>& dx, const double&) {
    const double mean = coupling * x.mean();
    for (Index i = 0; i < n; ++i) {
      const double stiffness = 1 + 0.1 * static_cast<double>(i % 7);
      dx[i] = -rates[i] * (stiffness * x[i] + bend * x[i] * x[i] + mean + twist * x[(i + 1) % n]);
    }
  };
  rung.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = x.sum();
    row[1] = x.squaredNorm();
  };
  const auto spread = [rates](const Vector<double>& x) -> Vector<double> {
    return (rates.array() * (1 + x.array().square()).sqrt()).matrix();
  };
  rung.draws.sample = [rhs = rung.field.value, spread](const Vector<double>& x, Vector<double>& dx,
                                                       Stream& stream, Index batch) {
    rhs(x, dx, 0.0);
    const Vector<double> size = spread(x) / std::sqrt(static_cast<double>(batch));
    for (Index i = 0; i < x.size(); ++i) dx[i] += size[i] * stream.normal();
  };
  rung.draws.covariance = [spread](const Vector<double>& x, const Matrix<double>& vectors,
                                   Matrix<double>& images) {
    images = spread(x).cwiseAbs2().asDiagonal() * vectors;
  };
  rung.clone = [=] { return wells(n, bend, coupling, twist); };
  return rung;
}

Trajectory<double> predicted(const Prediction& prediction, double eta, std::uint64_t steps,
                             Index batch) {
  WalkRequest request;
  request.step_size = eta;
  request.steps = steps;
  request.save_steps = evenly_spread_steps(steps, 3);
  request.batch = batch;
  request.jobs = 1;
  return prediction.rows(request, nullptr);
}

}  // namespace

TEST_CASE("adjoint moments: exact for a linear direction and noise that stays",
          "[moments][unsanitized]") {
  const AnyRung<double> sgd = wells(6, 0, 0.4);
  const Prediction full = predict_in_blocks([&] { return FollowedSteps{sgd}; }, 1);
  const Prediction adjoint = predict_by_adjoints(sgd, "toy");
  CHECK(adjoint.columns == full.columns);
  // The noise depends on x, to the next order in 1/B.
  for (const auto& [eta, steps, error] :
       {std::tuple{0.02, std::uint64_t{60}, 1e-6}, {0.002, 1000, 2e-3}, {0.05, 400, 2e-2}}) {
    const Trajectory<double> a = predicted(full, eta, steps, 100'000'000);
    const Trajectory<double> b = predicted(adjoint, eta, steps, 100'000'000);
    REQUIRE(b.outcome.ending == Ending::reached_end);
    INFO(steps << " steps of " << eta);
    for (std::size_t row = 1; row < a.rows.size(); ++row) {
      CHECK(b.rows[row][0] == Approx(a.rows[row][0]).epsilon(1e-7));
      CHECK(b.rows[row][2] == Approx(a.rows[row][2]).epsilon(error));
    }
  }
}

TEST_CASE("adjoint moments: differ from the full covariance by the next order", "[moments]") {
  const AnyRung<double> sgd = wells(5, 0.5, 0.3);
  const Prediction full = predict_in_blocks([&] { return FollowedSteps{sgd}; }, 1);
  const Prediction adjoint = predict_by_adjoints(sgd, "toy");
  // Every step a block of its own.
  std::vector<double> apart;
  for (const Index batch : {50, 100, 200, 400}) {
    const Trajectory<double> a = predicted(full, 0.02, 60, batch);
    const Trajectory<double> b = predicted(adjoint, 0.02, 60, batch);
    REQUIRE(b.outcome.ending == Ending::reached_end);
    apart.push_back(std::fabs(b.rows.back()[2] / a.rows.back()[2] - 1));
    // Means to a third of their shift, which is of the order of the variance.
    CHECK(std::fabs(b.rows.back()[0] - a.rows.back()[0]) < 0.1 * a.rows.back()[2]);
  }
  for (std::size_t i = 0; i + 1 < apart.size(); ++i) {
    CHECK(std::log2(apart[i] / apart[i + 1]) == Approx(1.0).margin(0.2));
  }
  CHECK(apart.back() < 1e-2);
}

TEST_CASE("adjoint moments: end where the noise is another one", "[moments]") {
  // Deviations of a few batches of one: E (1 + (x + d)^2) is far from 1 + x^2.
  const Trajectory<double> found =
      predicted(predict_by_adjoints(wells(5, 0, 0), "toy"), 0.5, 200, 1);
  CHECK(found.outcome.ending == Ending::diverged);
  CHECK_THAT(found.outcome.notes.back(), Catch::Contains("the prediction ends here"));
}

TEST_CASE("adjoint moments: large states of independent numbers", "[moments]") {
  constexpr Index n = 600;
  constexpr double eta = 0.02;
  constexpr std::uint64_t steps = 100;
  constexpr Index batch = 1000;
  const AnyRung<double> sgd = wells(n, 0.3, 0);
  const Trajectory<double> found = predicted(predict_moments(sgd, "toy"), eta, steps, batch);
  REQUIRE(found.outcome.ending == Ending::reached_end);
  // Each number by itself.
  double variance = 0;
  for (Index i = 0; i < n; ++i) {
    const double rate = sgd.field.rates[i];
    const double stiffness = 1 + 0.1 * static_cast<double>(i % 7);
    double x = sgd.initial[i], own = 0;
    for (std::uint64_t k = 0; k < steps; ++k) {
      const double kept = 1 - eta * rate * (stiffness + 0.6 * x);
      own = kept * kept * own + eta * eta / batch * rate * rate * (1 + x * x);
      x -= eta * rate * (stiffness * x + 0.3 * x * x);
    }
    variance += own;
  }
  CHECK(found.rows.back()[2] == Approx(std::sqrt(variance)).epsilon(2e-3));
  CHECK(found.rows.front()[2] == 0);
}

TEST_CASE("adjoint moments: a direction that is no gradient is named", "[moments]") {
  CHECK_THROWS_WITH(predict_moments(wells(513, 0.3, 0.2, 0.1), "toy"),
                    Catch::Contains("513 numbers") && Catch::Contains("gradient of a loss"));
  AnyRung<double> rung = wells(513, 0.3, 0.2);
  CHECK_NOTHROW(predict_moments(rung, "toy"));
  rung.dimension = 100'001;
  CHECK_THROWS_WITH(predict_moments(rung, "toy"), Catch::Contains("100000 at most"));
}

TEST_CASE("adjoint moments: which models have a gradient", "[moments]") {
  const std::vector<std::tuple<const char*, const char*, double>> cases{
      {"scan-snap",
       R"({"P":[[0.5,0.2,0.3,0,0],[0.25,0.45,0,0.3,0],[0.3,0.1,0,0.2,0.4]],"T":4,
           "start":"uniform"})",
       0.05},
      {"topic", R"({"T":2,"tau":1,"v":2,"d_a":2,"N":2,"sigma":0.3})", 0.1},
      {"joma",
       R"({"X":[[0.5,0.1,0.2],[0.2,0.6,0.1],[0.3,0,0.3],[0,0.3,0.4]],"scale":0.3,"length":3})",
       0.05}};
  for (const auto& [name, json, eta] : cases) {
    const AnyRung<double> sgd =
        find_model(name).rung("sgd", Parameters::parse(name, json, "test"), 3);
    const Trajectory<double> a = predicted(predict_moments(sgd, name), eta, 60, 1000);
    const Trajectory<double> b = predicted(predict_by_adjoints(sgd, name), eta, 60, 1000);
    REQUIRE(b.outcome.ending == Ending::reached_end);
    const std::size_t columns = sgd.observables.columns.size();
    std::size_t judged = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      const double deviation = a.rows.back()[columns + c];
      const double other = b.rows.back()[columns + c];
      // Rounding, and what ends at its extremum.
      if (!(deviation > 1e-6) || std::isnan(other)) continue;
      if (sgd.observables.columns[c].starts_with("invariant") ||
          sgd.observables.columns[c] == "normalised_correlation") {
        continue;
      }
      INFO(name << " " << sgd.observables.columns[c]);
      ++judged;
      CHECK(other == Approx(deviation).epsilon(0.03));
      CHECK(std::fabs(b.rows.back()[c] - a.rows.back()[c]) < 0.1 * deviation);
    }
    CHECK(judged >= 2);
  }
}

TEST_CASE("adjoint moments: those of many runs", "[moments]") {
  const Model& model = find_model("scan-snap");
  const auto parameters = Parameters::parse("scan-snap", R"({"T":3,"start":"uniform"})", "test");
  constexpr double eta = 1;
  constexpr std::uint64_t steps = 30;
  constexpr Index batch = 256;
  constexpr std::uint32_t count = 400;
  const AnyRung<double> sgd = model.rung("sgd", parameters, 3);
  REQUIRE(sgd.dimension > largest_full_covariance);
  const Trajectory<double> found =
      predicted(*model.row("moments").predict(parameters, 3), eta, steps, batch);
  REQUIRE(found.outcome.ending == Ending::reached_end);
  WalkRequest request;
  request.step_size = eta;
  request.steps = steps;
  request.save_steps = {steps};
  request.batch = batch;
  request.runs = count;
  request.seed = 4;
  const std::vector<Trajectory<double>> runs = walk(sgd, sgd.initial, request);
  const std::vector<double>& row = found.rows.back();
  const std::size_t columns = sgd.observables.columns.size();
  std::size_t judged = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    const double deviation = row[columns + c];
    if (!(deviation > 1e-9)) continue;
    double mean = 0, square = 0;
    for (const Trajectory<double>& run : runs) mean += run.rows[0][c] / count;
    for (const Trajectory<double>& run : runs) {
      square += std::pow(run.rows[0][c] - mean, 2) / (count - 1);
    }
    const double seen = std::sqrt(square);
    INFO(sgd.observables.columns[c] << ": " << mean << " +- " << seen << ", predicted " << row[c]
                                    << " +- " << deviation);
    ++judged;
    // 4.5 standard errors, and a twentieth for the next order and for the shift of the mean.
    constexpr double far = 4.5, neglected = 0.05;
    CHECK(std::fabs(mean - row[c]) < (far / std::sqrt(count) + neglected) * seen);
    CHECK(std::fabs(seen / deviation - 1) < far / std::sqrt(2.0 * count) + neglected);
  }
  CHECK(judged >= 5);
}

}  // namespace adjoint_moments_test
