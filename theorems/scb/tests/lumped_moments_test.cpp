/// Moments of large states of sparse contextual bigrams against their full covariance and
/// ensembles.

#include "theorems/scb/rungs/lumped_moments.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"
#include "theorems/scb/rungs/span_covariance.hpp"

namespace lumped_moments_test {

using namespace popgrad;
using namespace popgrad::scb;

namespace {

Training<double> instance(Index tokens, Index context, std::uint64_t seed) {
  Training<double> made;
  made.bigrams = random_bigrams(tokens, context, 2, seed);
  made.start = transfer_start(made.bigrams, 0.4, 0.6, seed);
  made.attention_rate = 1.3;
  return made;
}

// The span in full coordinates: matrices B_i, functionals of the state, its point.
struct Span {
  Training<double> training;
  SequenceSgd<double> sgd;
  std::vector<Matrix<double>> matrices;
  Matrix<double> unit;         // A_1 (T x N)
  Matrix<double> functionals;  // state x (matrices + 1)
  double kappa = 0;

  explicit Span(const Training<double>& made) : training(made), sgd(made) {
    const Bigrams<double>& b = made.bigrams;
    const Vector<double>& mu = b.stationary;
    const Index n = b.tokens();
    const auto centred = [&](const Matrix<double>& m) -> Matrix<double> {
      return m.colwise() - m * mu;
    };
    matrices = {centred(b.transition), centred(made.start)};
    matrices[0] /= std::sqrt(covariance_product(matrices[0], matrices[0], mu));
    matrices[1] -= covariance_product(matrices[0], matrices[1], mu) * matrices[0];
    matrices[1] /= std::sqrt(covariance_product(matrices[1], matrices[1], mu));
    const double share = 1 / static_cast<double>(b.context);
    kappa = std::sqrt(context_size(b) - share);
    unit = Matrix<double>::Constant(b.context, n, -share / kappa);
    for (Index k = 0; k < n; ++k) {
      for (Index e = b.first[static_cast<std::size_t>(k)];
           e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
        unit(b.position[static_cast<std::size_t>(e)], k) += b.law[e] / kappa;
      }
    }
    functionals = Matrix<double>::Zero(sgd.dimension(), 3);
    for (Index i = 0; i < 2; ++i) {
      functionals.col(i).head(n * n) =
          (matrices[static_cast<std::size_t>(i)] * mu.asDiagonal()).reshaped();
    }
    functionals.col(2).tail(n * b.context) = (unit * mu.asDiagonal()).reshaped();
  }

  [[nodiscard]] Vector<double> level() const {
    return training.start * training.bigrams.stationary;
  }

  [[nodiscard]] Vector<double> point(const Vector<double>& v, double y) const {
    const Index n = training.bigrams.tokens();
    Vector<double> x(sgd.dimension());
    x.head(n * n) =
        (level() * Vector<double>::Ones(n).transpose() + v[0] * matrices[0] + v[1] * matrices[1])
            .reshaped();
    x.tail(n * training.bigrams.context) =
        (y * unit.array() + 1 / static_cast<double>(training.bigrams.context)).reshaped();
    return x;
  }
};

// |V|_mu^2 and sum_k mu_k |a^k|^2 as weights of the squares of a state.
Vector<double> metric(const Span& span) {
  const Bigrams<double>& b = span.training.bigrams;
  const Index n = b.tokens();
  Vector<double> weight(span.sgd.dimension());
  for (Index k = 0; k < n; ++k) {
    weight.segment(k * n, n).setConstant(b.stationary[k]);
    weight.segment(n * n + k * b.context, b.context).setConstant(b.stationary[k]);
  }
  return weight;
}

Prediction moments_of(const std::string& json) {
  return *find_model("scb").row("moments").predict(Parameters::parse("scb", json, "test"), 3);
}

Trajectory<double> predicted(const Prediction& prediction, double eta, std::uint64_t steps,
                             Index batch, std::size_t rows = 6) {
  WalkRequest request;
  request.step_size = eta;
  request.steps = steps;
  request.save_steps = evenly_spread_steps(steps, rows);
  request.batch = batch;
  request.jobs = 1;
  return prediction.rows(request, nullptr);
}

}  // namespace

TEST_CASE("scb: covariance along and across the span is that of all sequences", "[scb][moments]") {
  for (const auto& [tokens, context, uniform] :
       {std::tuple{3, 6, false}, {5, 4, false}, {4, 9, true}}) {
    Training<double> made = instance(tokens, context, 5);
    const Index n = tokens;
    if (uniform) {
      // V(0) mu is not mu; columns still sum to 1.
      made.start += (Vector<double>::LinSpaced(n, -0.2, 0.2)) * Vector<double>::Ones(n).transpose();
    }
    const Span span(made);
    const SpanCovariance covariance(made.bigrams, span.level(), span.matrices, span.kappa,
                                    made.attention_rate);
    const Vector<double> v{{0.3, -0.2}};
    const double y = 0.35;
    const SpanCovariance::Law law = covariance(v, y, 0, 0);
    const Vector<double> x = span.point(v, y);
    Matrix<double> sigma;
    span.sgd.draw_covariance(x, Matrix<double>::Identity(x.size(), x.size()), sigma);
    Vector<double> field(x.size());
    span.sgd.rhs(x, field, 0.0);
    const Matrix<double> along = span.functionals.transpose() * sigma * span.functionals;
    INFO(tokens << " tokens, " << context << " positions");
    CHECK((law.mean - span.functionals.transpose() * field).norm() < 1e-12);
    CHECK((law.covariance - along).norm() < 1e-11 * along.norm());
    const Vector<double> squares = sigma.diagonal().cwiseProduct(metric(span));
    CHECK(law.values ==
          Approx(squares.head(n * n).sum() - along.topLeftCorner(2, 2).trace()).epsilon(1e-10));
    CHECK(law.attention == Approx(squares.tail(n * context).sum() - along(2, 2)).epsilon(1e-10));
  }
}

TEST_CASE("scb: the adjoint of the mean direction maps the span to itself", "[scb][moments]") {
  const Span span(instance(3, 6, 2));
  const Vector<double> v{{0.3, -0.2}};
  const Vector<double> x = span.point(v, 0.35);
  // The direction is cubic: a central difference with the third derivative taken out is exact.
  const auto pushed = [&](const Vector<double>& direction) -> Vector<double> {
    const auto difference = [&](double h) -> Vector<double> {
      Vector<double> ahead(x.size()), behind(x.size());
      span.sgd.rhs(x + h * direction, ahead, 0.0);
      span.sgd.rhs(x - h * direction, behind, 0.0);
      return (ahead - behind) / (2 * h);
    };
    return (4 * difference(0.1) - difference(0.2)) / 3;
  };
  // Phi'J is nothing but what it is on the span, for tangents of the constraints.
  const Vector<double> weight = metric(span);
  const Matrix<double> vectors = weight.cwiseInverse().asDiagonal() * span.functionals;
  Matrix<double> within(3, 3);
  for (Index i = 0; i < 3; ++i) {
    within.col(i) = span.functionals.transpose() * pushed(vectors.col(i));
  }
  Stream stream(4, 0, 0);
  Vector<double> tangent(x.size());
  for (double& value : tangent) value = stream.normal();
  span.sgd.attend(x);
  span.sgd.finish(tangent);
  const Vector<double> along = span.functionals.transpose() * tangent;
  const Vector<double> by_span = within * along;
  CHECK((span.functionals.transpose() * pushed(tangent) - by_span).norm() < 1e-12 * tangent.norm());
  CHECK(by_span.norm() > 1e-2);
  // In the metric of the learning rates J is symmetric on the tangents, as that of a gradient is.
  Vector<double> other(x.size());
  for (double& value : other) value = stream.normal();
  span.sgd.finish(other);
  Vector<double> rates = weight;
  const Index n = 3;
  rates.tail(x.size() - n * n) /= span.training.attention_rate;
  const double there = other.cwiseProduct(rates).dot(pushed(tangent));
  CHECK(there == Approx(tangent.cwiseProduct(rates).dot(pushed(other))).epsilon(1e-10));
  CHECK(std::fabs(there) > 1e-2);
}

TEST_CASE("scb: lumped moments are those of the full covariance, to the next order",
          "[scb][moments]") {
  const Training<double> made = instance(3, 6, 3);
  const Prediction full = predict_moments(forget_type(SequenceSgd<double>(made)), "scb");
  const Prediction lumped = lumped_moments(made);
  CHECK(lumped.columns == full.columns);
  std::vector<double> of_mean, of_deviation;
  for (const Index batch : {256, 512, 1024, 2048}) {
    const Trajectory<double> a = predicted(full, 0.05, 100, batch);
    const Trajectory<double> b = predicted(lumped, 0.05, 100, batch);
    REQUIRE(a.outcome.ending == Ending::reached_end);
    REQUIRE(b.outcome.ending == Ending::reached_end);
    double mean = 0, deviation = 0;
    for (std::size_t row = 1; row < a.rows.size(); ++row) {
      for (const std::size_t c : {0U, 1U, 2U, 3U, 4U}) {
        const double sd = a.rows[row][8 + c];
        mean = std::max(mean, std::fabs(b.rows[row][c] - a.rows[row][c]) / sd);
        deviation = std::max(deviation, std::fabs(b.rows[row][8 + c] / sd - 1));
      }
    }
    INFO("batch " << batch << ": mean apart by " << mean << " deviations, deviations by "
                  << deviation);
    CHECK(mean < 0.05);
    CHECK(deviation < 0.03 + b.rows.back().back());
    of_mean.push_back(mean);
    of_deviation.push_back(deviation);
  }
  for (std::size_t i = 0; i + 1 < of_mean.size(); ++i) {
    CHECK(std::log2(of_deviation[i] / of_deviation[i + 1]) == Approx(1.0).margin(0.2));
  }
  CHECK(of_mean.back() < 1e-3);
  CHECK(of_deviation.back() < 0.01);
}

// Some 3e9 tokens are drawn, a minute under the sanitizers.
TEST_CASE("scb: lumped moments are those of many runs of sgd", "[scb][moments][unsanitized]") {
  const std::string json =
      R"({"N":4,"T":300,"Q":2,"start":"transfer","theta":0.6,"correlation":0.6})";
  constexpr double eta = 0.1;
  constexpr std::uint64_t steps = 60;
  constexpr Index batch = 400;
  constexpr std::uint32_t count = 400;
  const Prediction moments = moments_of(json);
  CHECK(moments.law_names.size() < 200);
  const Trajectory<double> found = predicted(moments, eta, steps, batch, 4);
  REQUIRE(found.outcome.ending == Ending::reached_end);
  const AnyRung<double> sgd =
      find_model("scb").rung("sgd", Parameters::parse("scb", json, "test"), 3);
  WalkRequest request;
  request.step_size = eta;
  request.steps = steps;
  request.save_steps = evenly_spread_steps(steps, 4);
  request.batch = batch;
  request.runs = count;
  request.seed = 8;
  const std::vector<Trajectory<double>> runs = walk(sgd, sgd.initial, request);
  std::size_t judged = 0;
  for (std::size_t row = 1; row < found.rows.size(); ++row) {
    for (std::size_t c = 0; c < 5; ++c) {
      double mean = 0, square = 0;
      for (const Trajectory<double>& run : runs) mean += run.rows[row][c] / count;
      for (const Trajectory<double>& run : runs) {
        square += std::pow(run.rows[row][c] - mean, 2) / (count - 1);
      }
      const double seen = std::sqrt(square);
      const double deviation = found.rows[row][8 + c];
      INFO(found.columns[c] << " at t = " << found.t[row] << ": " << mean << " +- " << seen
                            << ", predicted " << found.rows[row][c] << " +- " << deviation);
      if (std::isnan(deviation)) continue;
      ++judged;
      const double neglected = found.rows[row][16];
      // 4.5 standard errors of a mean and of a deviation, and what is neglected.
      constexpr double far = 4.5;
      CHECK(std::fabs(mean - found.rows[row][c]) < (far / std::sqrt(count) + neglected) * seen);
      CHECK(std::fabs(seen / deviation - 1) < far / std::sqrt(2.0 * count) + neglected);
    }
  }
  CHECK(judged >= 12);
}

TEST_CASE("scb: lumped moments of long contexts", "[scb][moments]") {
  // Where the noise on single positions adds up to more than a deviation, D says so.
  const std::string json = R"({"N":20,"T":1000000000,"Q":2,"start":"transfer"})";
  const Trajectory<double> found = predicted(moments_of(json), 0.1, 50, 100'000'000);
  REQUIRE(found.outcome.ending == Ending::reached_end);
  for (std::size_t c : {0U, 1U, 2U, 3U}) CHECK(found.rows.back()[8 + c] > 0);
  // As many numbers of state for any T.
  const std::string shorter = R"({"N":20,"T":1000000,"Q":2,"start":"transfer"})";
  CHECK(moments_of(shorter).law_names.size() == moments_of(json).law_names.size());
}

TEST_CASE("scb: what moments of large states are not for is named", "[scb][moments]") {
  CHECK_THROWS_WITH(moments_of(R"({"attention":"softmax"})"),
                    Catch::Contains("15009 numbers") && Catch::Contains("softmax attention"));
  CHECK_THROWS_WITH(moments_of(R"({"project":false})"), Catch::Contains("without projection"));
  Training<double> made = instance(3, 6, 1);
  made.attention_start = Matrix<double>::Constant(6, 3, 1.0 / 6);
  CHECK_THROWS_AS(lumped_moments(made), InputError);
  // Small states are followed in full.
  CHECK(moments_of(R"({"T":20})").law_names.size() == 3 * 69 + 2 * 69 * 69);
}

}  // namespace lumped_moments_test
