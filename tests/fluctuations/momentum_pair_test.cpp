/// Heavy ball as plain steps of the pair: the same steps, and the law of their fluctuations.

#include "popgrad/fluctuations/momentum_pair.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "problems/any_flow.hpp"

namespace momentum_pair_test {

using namespace popgrad;

namespace {

// x' = -k x with noise of the variance 1 a draw.
AnyRung<double> spring(double k) {
  AnyRung<double> rung = problems::any_flow<double>(
      Vector<double>{{1.0}}, [k](const auto& x, auto& dx) { dx[0] = -k * x[0]; },
      [](const auto&, auto&) {});
  rung.observables.columns = {"x"};
  rung.state_names = {"x"};
  rung.observables.read = [](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = x[0];
  };
  rung.draws.covariance = [](const Vector<double>&, const Matrix<double>& vectors,
                             Matrix<double>& images) { images = vectors; };
  rung.clone = [k] { return spring(k); };
  return rung;
}

}  // namespace

TEST_CASE("momentum pair: its plain steps are those of heavy ball") {
  for (const char* name : {"joma", "scan-snap", "scb", "topic"}) {
    const AnyRung<double> sgd = find_model(name).rung("sgd", Parameters(name), 3);
    WalkRequest request;
    request.step_size = 0.05;
    request.steps = 40;
    request.save_steps = {0, 1, 7, 40};
    request.seed = 11;
    request.runs = 2;
    for (const Index batch : {Index(0), Index(8)}) {
      request.batch = batch;
      WalkRequest heavy = request;
      heavy.optimiser.rule = Optimiser::Rule::momentum;
      heavy.optimiser.momentum = 0.7;
      const auto expected = walk(sgd, sgd.initial, heavy);
      const AnyRung<double> pair = momentum_pair(sgd, 0.7, request.step_size);
      const auto found = walk(pair, pair.initial, request);
      INFO(name << " batch " << batch);
      for (std::size_t run = 0; run < expected.size(); ++run) {
        REQUIRE(found[run].rows.size() == expected[run].rows.size());
        const Vector<double> x = found[run].last_state.head(sgd.dimension);
        CHECK((x - expected[run].last_state).norm() <= 1e-12 * x.norm());
        CHECK((expected[run].last_state - sgd.initial).norm() > 1e-4 * sgd.initial.norm());
      }
    }
  }
}

TEST_CASE("momentum pair: its Jacobian is that of its direction") {
  const AnyRung<double> sgd = problems::any_flow<double>(
      Vector<double>{{0.4, -0.9}},
      [](const auto& x, auto& dx) {
        dx[0] = x[0] * x[1];
        dx[1] = x[1] * x[1] - 3.0 * x[0];
      },
      [](const auto& x, auto& j) { j << x[1], x[0], -3.0, 2.0 * x[1]; });
  const AnyRung<double> pair = momentum_pair(sgd, 0.6, 0.1);
  Stream stream(5, 0, 0);
  Vector<double> at = pair.initial;
  for (double& value : at) value += 0.3 * stream.normal();
  Matrix<double> known(pair.dimension, pair.dimension);
  pair.field.jacobian(at, known, 0.0);
  constexpr double h = 1e-5;
  Vector<double> ahead(pair.dimension), behind(pair.dimension);
  for (Index j = 0; j < pair.dimension; ++j) {
    const Vector<double> shift = h * Vector<double>::Unit(pair.dimension, j);
    pair.field.value(at + shift, ahead, 0.0);
    pair.field.value(at - shift, behind, 0.0);
    CHECK(((ahead - behind) / (2 * h) - known.col(j)).norm() < 1e-8);
  }
}

TEST_CASE("momentum pair: fluctuations at rest are those of an autoregression", "[moments]") {
  // x_{n+1} = (1 + beta - eta k) x_n - beta x_{n-1} + eta xi, of which the variance at rest is known.
  constexpr double k = 0.8, eta = 0.1, beta = 0.7;
  constexpr Index batch = 4;
  const double a = 1 + beta - eta * k;
  const double variance =
      eta * eta / batch * (1 + beta) / ((1 - beta) * ((1 + beta) * (1 + beta) - a * a));
  const AnyRung<double> pair = momentum_pair(spring(k), beta, eta);
  WalkRequest request;
  request.step_size = eta;
  request.steps = 600;
  request.save_steps = {600};
  request.batch = batch;
  for (const Trajectory<double>& found : {predict_at_rest(pair, "toy", request),
                                          predict_moments(pair, "toy").rows(request, nullptr)}) {
    CHECK(found.rows.back()[1] == Approx(std::sqrt(variance)).epsilon(1e-6));
  }
}

}  // namespace momentum_pair_test
