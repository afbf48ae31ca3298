#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace rungs_test {

using namespace popgrad;
using namespace popgrad::scb;

namespace {

// The dense state of a lumped one.
Vector<double> spread_out(const Bigrams<double>& b, const Vector<double>& lumped) {
  const Index n = b.tokens();
  Vector<double> x(n * (n + b.context));
  x.head(n * n) = lumped.head(n * n);
  for (Index k = 0; k < n; ++k) {
    const Index begin = b.first[static_cast<std::size_t>(k)];
    auto own = x.segment(n * n + k * b.context, b.context);
    own.setConstant(lumped[n * n + begin + k + b.support(k)]);
    for (Index i = 0; i < b.support(k); ++i) {
      own[b.position[static_cast<std::size_t>(begin + i)]] = lumped[n * n + begin + k + i];
    }
  }
  return x;
}

}  // namespace

TEST_CASE("scb: the lumped field is the dense one", "[scb]") {
  for (const bool softmax : {false, true}) {
    for (const bool project : {false, true}) {
      Training<double> training = from_scratch(4, 12, 3, 1);
      training.softmax = softmax;
      training.project = project;
      training.attention_rate = 1.7;
      const PopulationFlow<double> lumped(training);
      const SequenceSgd<double> dense(training);
      Stream stream(1, 0, 0);
      Vector<double> x(lumped.dimension());
      for (double& value : x) value = stream.uniform();
      // Projected rungs start on 1'V = 1' and stay there.
      for (Index k = 0; k < 4; ++k) x.segment(4 * k, 4) /= x.segment(4 * k, 4).sum();
      Vector<double> dx(x.size());
      lumped.rhs(x, dx, 0.0);
      const Vector<double> wide = spread_out(training.bigrams, x);
      Vector<double> dwide(wide.size());
      dense.rhs(wide, dwide, 0.0);
      CHECK((spread_out(training.bigrams, dx) - dwide).cwiseAbs().maxCoeff() < 1e-13);
      std::vector<double> row(8), wide_row(8);
      lumped.observe(x, 0.0, row);
      dense.observe(wide, 0.0, wide_row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        INFO(lumped.columns()[i]);
        CHECK(row[i] == Approx(wide_row[i]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("scb: the field descends the loss, unprojected and not preconditioned", "[scb]") {
  // dL/dV = -field D, dL/da^k = -field mu_k (times the number of equal positions).
  Training<double> training = from_scratch(3, 7, 2, 1);
  training.project = false;
  const PopulationFlow<double> flow(training);
  const Bigrams<double>& b = training.bigrams;
  Stream stream(2, 0, 0);
  Vector<double> x(flow.dimension());
  for (double& value : x) value = stream.uniform();
  Vector<double> dx(x.size());
  flow.rhs(x, dx, 0.0);
  constexpr double step = 1e-5;
  for (Index i = 0; i < x.size(); ++i) {
    Vector<double> shifted = x;
    shifted[i] += step;
    const double above = flow.loss(shifted);
    shifted[i] -= 2 * step;
    const double slope = (above - flow.loss(shifted)) / (2 * step);
    double weight = 0;
    if (i < 9) {
      weight = b.stationary[i / 3];
    } else {
      const Index at = i - 9;
      const Index k = at / 3;  // two entries and the rest, a token
      weight = b.stationary[k] * (at % 3 == 2 ? 5 : 1);
    }
    CHECK(slope == Approx(-weight * dx[i]).margin(1e-9));
  }
}

TEST_CASE("scb: reduced flow and full flow agree, and 50 digits with double", "[scb]") {
  const Training<double> training = from_scratch(3, 5000, 2, 1);
  const auto end = [](const auto& rung) {
    using T = std::decay_t<decltype(rung.initial[0])>;
    SolveRequest<T> request;
    request.end = T(60);
    request.save_at = {T(60)};
    request.relative_tolerance = T(1e-12);
    request.absolute_tolerance = T(1e-14);
    request.find_events = false;
    const Trajectory<T> run = solve(rung, request);
    return std::vector<double>{to_double(run.rows[0][0]), to_double(run.rows[0][1]),
                               to_double(run.rows[0][4])};
  };
  const std::vector<double> full = end(forget_type(PopulationFlow<double>(training)));
  const std::vector<double> reduced = end(forget_type(ReducedFlow<double>(training)));
  const DigitsScope scope(50);
  const std::vector<double> precise =
      end(forget_type(ReducedFlow<Real>(training.template cast<Real>())));
  for (std::size_t i = 0; i < full.size(); ++i) {
    CHECK(full[i] == Approx(reduced[i]).epsilon(1e-9));
    CHECK(reduced[i] == Approx(precise[i]).epsilon(1e-9));
  }
}

TEST_CASE("scb: a transfer start has the correlation asked for", "[scb]") {
  const Bigrams<double> b = random_bigrams(5, 30, 3, 4);
  const Matrix<double> start = transfer_start(b, 0.5, 0.3, 9);
  const Matrix<double> ground = b.stationary * Vector<double>::Ones(5).transpose();
  const Matrix<double> moved = (start - ground) / 0.5;
  const Matrix<double> target = b.transition - ground;
  const double product = covariance_product(moved, target, b.stationary);
  const double size = covariance_product(moved, moved, b.stationary);
  CHECK(product / std::sqrt(size * transition_size(b)) == Approx(0.3).epsilon(1e-10));
  CHECK((start * b.stationary - b.stationary).norm() < 1e-12);
  CHECK((start.colwise().sum().transpose() - Vector<double>::Ones(5)).norm() < 1e-12);
}

TEST_CASE("scb: bad instances are named", "[scb]") {
  const Model& model = find_model("scb");
  const auto rung = [&](const char* json, const char* name = "flow") {
    return model.rung(name, Parameters::parse("scb", json, "test"), 1);
  };
  CHECK_THROWS_WITH(rung(R"({"Q":12,"T":10})"),
                    Catch::Contains("--Q 12 exceeds --T 10") && Catch::Contains("1 <= Q <= T"));
  CHECK_THROWS_WITH(rung(R"({"P":[[1,0],[0,1]],"q":[[1,0],[0,1]]})"),
                    Catch::Contains("stationary"));
  CHECK_THROWS_WITH(rung(R"({"P":[[0.5,0.5],[0.4,0.5]],"q":[[1,0],[0,1]]})"),
                    Catch::Contains("column 0"));
  CHECK_THROWS_WITH(rung(R"({"P":[[0.5,0.5],[0.5,0.5]]})"), Catch::Contains("q"));
  CHECK_THROWS_WITH(rung(R"({"P":[[0.5,0.5],[0.5,0.5]],"q":[[1,0],[0,1]],"mu":[0.3,0.7]})"),
                    Catch::Contains("P mu = mu"));
  CHECK_THROWS_WITH(rung(R"({"P":[[0.5,0.5],[0.5,0.5]],"q":[[1,0]]})"), Catch::Contains("1 rows"));
  CHECK_THROWS_WITH(rung(R"({"T":1})"), Catch::Contains("--T"));
  CHECK_THROWS_WITH(rung(R"({"theta":1})"), Catch::Contains("--start transfer"));
  CHECK_THROWS_WITH(rung(R"({"T":1000000000})", "sgd"), Catch::Contains("do not depend on T"));
  CHECK_THROWS_WITH(rung(R"({"start":"uniform"})", "closed-form"), Catch::Contains("reduced"));
}

TEST_CASE("scb: the creep along the hyperbola is the reduced flow to O(1/T)", "[scb]") {
  double before = 0;
  for (const double positions : {1e3, 1e4}) {
    const double transition = 0.08;
    const double context = 0.6;
    const Vector<double> start = along_hyperbola(transition, context, positions, 0.0);
    CHECK(start[0] ==
          Approx(std::pow((context - 1 / positions) / transition, 0.25)).epsilon(1e-12));
    // The flow from where the closed form begins.
    AnyRung<double> rung =
        forget_type(ReducedFlow<double>(transition, context, positions, 0.34, start[0], 0));
    rung.initial[1] = start[1];
    SolveRequest<double> request;
    request.end = 20 * positions;
    request.save_at = equally_spaced(0.0, request.end, 41);
    request.relative_tolerance = 1e-12;
    request.absolute_tolerance = 1e-14;
    request.find_events = false;
    request.keep_states = true;
    const Trajectory<double> run = solve(rung, request);
    REQUIRE(run.outcome.usable());
    double worst = 0;
    for (std::size_t i = 0; i < run.t.size(); ++i) {
      const Vector<double> formula = along_hyperbola(transition, context, positions, run.t[i]);
      worst = std::max(worst, std::fabs(formula[0] - run.states[i][0]));
      worst = std::max(worst, std::fabs(formula[1] - run.states[i][1]));
    }
    INFO("T = " << positions << ", apart by " << worst);
    CHECK(worst < 3 / positions);
    if (before > 0) CHECK(std::log10(before / worst) == Approx(1).margin(0.1));
    before = worst;
  }
  // The plain integral of the slow field, in many digits.
  const DigitsScope digits(40);
  const Real one = along_hyperbola(Real("0.08"), Real("0.6"), Real(1000), Real(5000))[0];
  CHECK(to_double(one) == Approx(along_hyperbola(0.08, 0.6, 1e3, 5e3)[0]).epsilon(1e-13));
}

}  // namespace rungs_test
