// The law of one draw of a loss over normal draws, exact: against draws, and predicted runs against an ensemble.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"

namespace draw_covariance_test {
namespace {

using namespace popgrad;

// Two clusters of inputs, a linear teacher with noise; a layer of two states.
SampleLoss clusters() {
  return {.name = "clusters",
          .paper = "",
          .sizes = {{"d", 2}},
          .parameters = {{.name = "m", .value = Value{Value{1, 0.5}, Value{-0.5, 0.2}}},
                         {.name = "p", .value = Value{0.3, 0.7}}},
          .draws = {{"k", "categorical(p)"}, {"z", "normal(d, var=1/2)"}, {"e", "normal()"}},
          .states = {{.name = "a", .start = "1/2", .rate = "2"},
                     {.name = "w", .start = "0.3 - 0.8 * arange(d)"}},
          .loss = {{"x", "m[k] + z"}, {"loss", "(a * (w @ x) - x[0] - e / 2)**2 / 2"}},
          .observables = {{.name = "slope", .formula = "a * w[0]"}},
          .end = 4,
          .step = 0.1,
          .batch = 8};
}

TEST_CASE("draws over normal and finite laws have the covariance derived",
          "[learning][covariance]") {
  const auto model = model_of_loss(clusters());
  const Parameters usual("clusters");
  // sgd of its own leaves out what may take long to derive.
  CHECK_FALSE(model->rung("sgd", usual, 1).draws.covariance);
  const AnyRung<double> sgd = *model->row("moments").predict(usual, 1)->steps;
  CHECK_FALSE(sgd.draws.known_from_nodes());
  const Vector<double> x{{0.7, 0.4, -0.3}};
  constexpr std::uint32_t draws = 20000;
  const Matrix<double> deviations = sampled_deviations(sgd, x, draws, 5, 0);
  Matrix<double> covariance;
  sgd.draws.covariance(x, Matrix<double>::Identity(3, 3), covariance);
  const Matrix<double> found = deviations * deviations.transpose() / draws;
  const auto fits = [&](const Matrix<double>& claimed) {
    for (Index i = 0; i < 3; ++i) {
      for (Index j = 0; j <= i; ++j) {
        // Products of deviations that are quadratic in normal draws have heavier tails than normal ones.
        const double error = std::sqrt(8 * claimed(i, i) * claimed(j, j) / draws);
        if (!(std::abs(found(i, j) - claimed(i, j)) < 4 * error)) return false;
      }
    }
    return true;
  };
  CHECK(fits(covariance));
  CHECK_FALSE(fits(1.2 * covariance));
  Vector<double> mean(3);
  sgd.field.value(x, mean, 0);
  CHECK_FALSE(fits(covariance + mean * mean.transpose()));
}

TEST_CASE("moments over normal draws are those of runs", "[learning][covariance]") {
  const auto model = model_of_loss(clusters());
  const Parameters usual("clusters");
  WalkRequest steps;
  steps.step_size = 0.05;
  steps.steps = 20;
  steps.save_steps = {20};
  steps.batch = 16;
  const Trajectory<double> predicted =
      model->row("moments").predict(usual, 1)->rows(steps, nullptr);
  const AnyRung<double> sgd = model->rung("sgd", usual, 1);
  steps.runs = 20000;
  steps.seed = 11;
  const auto runs = walk(sgd, sgd.initial, steps);
  for (std::size_t column = 0; column < 2; ++column) {
    double sum = 0, squares = 0;
    for (const Trajectory<double>& run : runs) {
      sum += run.rows[0][column];
      squares += run.rows[0][column] * run.rows[0][column];
    }
    const double count = steps.runs, mean = sum / count;
    const double deviation = std::sqrt(squares / count - mean * mean);
    CHECK(predicted.rows[0][column] == Approx(mean).margin(4 * deviation / std::sqrt(count)));
    CHECK(predicted.rows[0][column + 2] == Approx(deviation).epsilon(0.03));
  }
}

TEST_CASE("a law of one draw that is not derived says what would do", "[learning][covariance]") {
  SampleLoss loss = clusters();
  const auto why_not = [&] {
    try {
      model_of_loss(loss)->row("moments").predict(Parameters(loss.name), 1);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(why_not().empty());
  loss = {.name = "large",
          .paper = "",
          .draws = {{"x", "normal(600)"}},
          .states = {{.name = "w", .start = "zeros(600)"}},
          .loss = {{"loss", "(w @ x - x[0])**2"}}};
  CHECK(why_not().find("600 numbers") != std::string::npos);
}

}  // namespace
}  // namespace draw_covariance_test
