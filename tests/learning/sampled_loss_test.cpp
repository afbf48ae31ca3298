// The random field of a loss: means and covariances of draws, predicted runs, recorded ones.

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "learning/loss_rung.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/judging/judge.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"

namespace sampled_loss_test {
namespace {

using namespace popgrad;

learning::LossFlow<double> rung_of(const SampleLoss& loss) {
  return learning::LossFlow<double>(learning::loss_instance(loss, Parameters(loss.name), 1));
}

// Two classes of points, of which the second has a label at random.
SampleLoss regression() {
  return {.name = "regression",
          .paper = "",
          .sizes = {{"points", 4}, {"d", 2}},
          .parameters = {{.name = "X",
                          .value = Value{Value{1, 0.5}, Value{-0.5, 2}, Value{0, -1}, Value{1, 1}}},
                         {.name = "p", .value = Value{0.1, 0.2, 0.3, 0.4}}},
          .draws = {{"i", "categorical(p)"}, {"y", "bernoulli(sigmoid(X[i] @ ones(d)))"}},
          .states = {{.name = "w", .start = "2 - 4 * arange(d)", .rate = "1 + arange(d)"}},
          .loss = {{"loss", "softplus(X[i] @ w) - y * (X[i] @ w) + sum(w**2) / 20"}},
          .observables = {{.name = "size", .formula = "w @ w"}},
          .end = 4,
          .step = 0.1,
          .batch = 8};
}

TEST_CASE("draws of the field have its mean and the covariance predicted", "[learning]") {
  const AnyRung<double> sgd = model_of_loss(regression())->rung("sgd", Parameters("regression"), 1);
  const Vector<double> x{{0.4, -0.3}};
  constexpr std::uint32_t draws = 20000;
  const Matrix<double> deviations = sampled_deviations(sgd, x, draws, 5, 0);
  Matrix<double> covariance;
  sgd.draws.covariance(x, Matrix<double>::Identity(2, 2), covariance);
  const Vector<double> mean = deviations.rowwise().mean();
  const Matrix<double> found = deviations * deviations.transpose() / draws;
  for (Index i = 0; i < 2; ++i) {
    CHECK(std::abs(mean[i]) < 4 * std::sqrt(covariance(i, i) / draws));
    for (Index j = 0; j < 2; ++j)
      CHECK(std::abs(found(i, j) - covariance(i, j)) <
            5 * std::sqrt(2 * covariance(i, i) * covariance(j, j) / draws));
  }
}

TEST_CASE("a minibatch steps along minus the gradient of the loss that it logs", "[learning]") {
  const AnyRung<double> sgd = model_of_loss(regression())->rung("sgd", Parameters("regression"), 1);
  const Vector<double> x{{0.4, -0.3}};
  const auto loss_at = [&](const Vector<double>& at) {
    Stream stream(3, 0, 7);
    return sgd.draws.loss(at, stream, 300);
  };
  Vector<double> slope(2);
  Stream stream(3, 0, 7);
  sgd.draws.sample(x, slope, stream, 300);
  constexpr double step = 1e-5;
  for (Index k = 0; k < 2; ++k) {
    const Vector<double> e = step * Vector<double>::Unit(2, k);
    const double rate = k == 0 ? 1 : 2;
    CHECK(slope[k] == Approx(-rate * (loss_at(x + e) - loss_at(x - e)) / (2 * step)).margin(1e-8));
  }
  CHECK(loss_at(x) == Approx(observed_at(sgd, x, "loss")).margin(0.2));
}

TEST_CASE("moments of a written loss are those of its runs", "[learning]") {
  const auto model = model_of_loss(regression());
  const Parameters usual("regression");
  WalkRequest steps;
  steps.step_size = 0.05;
  steps.steps = 20;
  steps.save_steps = {20};
  steps.batch = 16;
  const Trajectory<double> predicted =
      model->row("moments").predict(usual, 1)->rows(steps, nullptr);
  steps.runs = 40000;
  steps.seed = 11;
  const AnyRung<double> sgd = model->rung("sgd", usual, 1);
  const auto runs = walk(sgd, sgd.initial, steps);
  REQUIRE(predicted.columns ==
          std::vector<std::string>{"loss", "size", "loss_sd", "size_sd", "second_order"});
  for (std::size_t column = 0; column < 2; ++column) {
    double sum = 0, squares = 0;
    for (const Trajectory<double>& run : runs) {
      sum += run.rows[0][column];
      squares += run.rows[0][column] * run.rows[0][column];
    }
    const double count = steps.runs, mean = sum / count;
    const double deviation = std::sqrt(squares / count - mean * mean);
    CHECK(predicted.rows[0][column] == Approx(mean).margin(4 * deviation / std::sqrt(count)));
    CHECK(predicted.rows[0][column + 2] == Approx(deviation).epsilon(0.02));
  }
}

TEST_CASE("a logged run of a written loss is judged", "[learning]") {
  const auto model = model_of_loss(regression());
  const auto judged = [&](double rate) {
    WalkRequest steps;
    steps.step_size = rate;
    steps.steps = 40;
    for (std::uint64_t k = 0; k <= 40; ++k) steps.save_steps.push_back(k);
    steps.batch = 8;
    steps.runs = 4;
    steps.seed = 77;
    const AnyRung<double> sgd = model->rung("sgd", Parameters("regression"), 1);
    std::vector<RecordedRun> logs;
    for (const Trajectory<double>& run : walk(sgd, sgd.initial, steps)) {
      RecordedRun& log = logs.emplace_back();
      log.label = "log";
      log.columns = {"loss", "size"};
      log.values.resize(2);
      log.gaps.resize(2);
      for (std::size_t row = 0; row < run.rows.size(); ++row) {
        log.t.push_back(0.1 * static_cast<double>(row));
        for (std::size_t c = 0; c < 2; ++c) log.values[c].push_back(run.rows[row][c]);
      }
      log.last = log.t.back();
    }
    JudgeRequest request{.model = *model, .parameters = Parameters("regression")};
    request.steps.step_size = 0.1;
    request.steps.batch = 8;
    request.fit = false;
    request.events = false;
    const RunJudge judge(request, logs, [](double) { return false; });
    return judge.judgement().consistent();
  };
  CHECK(judged(0.1));
  CHECK_FALSE(judged(0.3));
}

// The rule of a perceptron: a step where the label is missed.
SampleLoss perceptron() {
  return {.name = "perceptron",
          .paper = "",
          .sizes = {{"d", 3}},
          .parameters = {{.name = "teacher", .value = "1 + arange(d)"}},
          .draws = {{"x", "normal(d)"}},
          .states = {{.name = "w", .start = "ones(d) / 2"}},
          .loss = {{"loss", "(sign(w @ x) - sign(teacher @ x)) * (w @ x) / 2"}},
          .samples = 20000};
}

// A value learned from its own estimate one step on, which is held fixed.
SampleLoss target_network() {
  return {
      .name = "target",
      .paper = "",
      .sizes = {{"points", 3}},
      .parameters = {{.name = "next",
                      .value = Value{Value{0.5, 0.5, 0}, Value{0, 0.25, 0.75}, Value{1, 0, 0}}}},
      .draws = {{"s", "index(points)"}, {"r", "categorical(next[s])"}},
      .states = {{.name = "V", .start = "arange(points) / 3"}},
      .loss = {{"loss", "(V[s] - stop_gradient(s + V[r] / 2))**2 / 2"}}};
}

// A step in the state.
SampleLoss threshold() {
  SampleLoss loss = perceptron();
  loss.name = "threshold";
  loss.loss = {{"loss", "where(w @ x > 0, w @ x, 0) - (teacher @ x) * (w @ x) + (w @ x > 0)"}};
  return loss;
}

// The field against gradients of samples.
void check_field(const SampleLoss& loss, const Vector<double>& step) {
  INFO(loss.name);
  const auto rung = rung_of(loss);
  const Vector<double> x = rung.initial() + step;
  const Index size = x.size();
  Vector<double> field(size), mean = Vector<double>::Zero(size), one(size);
  rung.rhs(x, field, 0);
  CHECK(field.norm() > 0.05);
  constexpr Index samples = 1'000'000;
  Stream stream(9, 0, 0);
  rung.sample_rhs(x, mean, stream, samples);
  Matrix<double> covariance;
  rung.draw_covariance(x, Matrix<double>::Identity(size, size), covariance);
  const Vector<double> errors = rung.errors(x).gradient;
  for (Index k = 0; k < size; ++k) {
    const double error = std::sqrt(covariance(k, k) / samples + errors[k] * errors[k]);
    CHECK(std::abs(mean[k] - field[k]) < 4 * error);
  }
}

TEST_CASE("fields of losses that jump are means of gradients, and said to be no gradients",
          "[learning]") {
  for (const SampleLoss& loss : {perceptron(), target_network(), threshold()}) {
    INFO(loss.name);
    CHECK_FALSE(no_gradient(loss).empty());
    const auto model = model_of_loss(loss);
    CHECK_THAT(model->row("flow").info.summary,
               Catch::Contains("no gradient of the expected loss"));
    check_field(loss, Vector<double>{{0.1, -0.4, 0.2}});
  }
}

TEST_CASE("committees of functions of normal inputs have exact fields",
          "[learning][expectations]") {
  SampleLoss loss{.name = "committee",
                  .paper = "",
                  .sizes = {{"N", 3}},
                  .parameters = {{.name = "B", .value = Value{Value{1, 0.5, 0}, Value{0, 1, -1}}}},
                  .draws = {{"x", "normal(N)"}, {"z", "normal()"}},
                  .states = {{.name = "J", .start = "stack([ones(N), arange(N) - 1]) / 2"}},
                  .samples = 20000};
  const Vector<double> step{{0.1, -0.4, 0.2, 0.3, 0.1, -0.2}};
  for (const auto& [steps, kernels] :
       {std::pair{"(sum(erf(J @ x / sqrt(2))) - sum(erf(B @ x / sqrt(2))) - z / 4)**2 / 2",
                  "kernels erf erf"},
        {"(sum(relu(J @ x)) - sum(relu(B @ x)) - z / 4)**2 / 2", "kernels relu relu"},
        {"(sum(J @ x) + sum(gelu(J @ x)) - sum(sign(B @ x)))**2 / 2", "kernels erf erf"},
        {"(sum(erf(J @ x)) - sum((B @ x)**3))**2 / 8", "kernels erf erf"},
        {"sum(relu(-sign(B @ x) * (J @ x)))", "kernels relu"}}) {
    loss.loss = {{"loss", steps}};
    CHECK(no_gradient(loss).empty());
    CHECK_THAT(model_of_loss(loss)->row("flow").info.cost, Catch::Contains(kernels));
    check_field(loss, step);
  }
}

TEST_CASE("fields of kinks keep their digits where students are nearly their teachers",
          "[learning][expectations]") {
  SampleLoss loss{
      .name = "committee",
      .paper = "",
      .sizes = {{"N", 5}},
      .parameters = {{.name = "B", .value = "stack([ones(N), arange(N) - 1]) / 3"},
                     {.name = "angle", .value = 1}},
      .draws = {{"x", "normal(N)"}},
      .states = {{.name = "J", .start = "B + angle * stack([arange(N) - 2, ones(N)])"}}};
  const DigitsScope digits(50);
  for (const char* unit : {"relu", "abs"}) {
    loss.loss = {{"loss", fmt::format("(sum({0}(J @ x)) - sum({0}(B @ x)))**2 / 2", unit)}};
    const auto model = model_of_loss(loss);
    for (const char* angle :
         {"0", "1e-12", "1e-9", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3", "1e-2"}) {
      const Parameters parameters("committee", {{"angle", angle}});
      const AnyRung<double> rung = model->rung("flow", parameters, 1);
      const AnyRung<Real> precise = model->rung_in_digits("flow", parameters, 1);
      Vector<double> field(rung.dimension);
      rung.field.value(rung.initial, field, 0.0);
      Vector<Real> exact(rung.dimension);
      precise.field.value(precise.initial, exact, Real(0));
      const double error = (field - exact.cast<double>()).lpNorm<Eigen::Infinity>();
      CAPTURE(unit, angle);
      CHECK(error < 1e-15);
    }
  }
}

TEST_CASE("the field of a target that is held fixed has no symmetric Jacobian", "[learning]") {
  const AnyRung<double> flow =
      model_of_loss(target_network())->rung("flow", Parameters("target"), 1);
  Matrix<double> jacobian;
  flow.field.jacobian(flow.initial, jacobian, 0.0);
  // d/dV_r of (1/3) (s + V_r/2 - V_s) is next[s, r]/6 off the diagonal.
  CHECK(jacobian(0, 1) == Approx(0.5 / 6));
  CHECK(jacobian(1, 0) == Approx(0).margin(1e-15));
}

TEST_CASE("a sampled loss has its standard error", "[learning]") {
  const SampleLoss loss{.name = "square",
                        .paper = "",
                        .draws = {{"x", "normal(2, var=4)"}, {"b", "bernoulli(0.5)"}},
                        .states = {{.name = "w"}},
                        .loss = {{"loss", "sqrt((w - x[0])**2)**2 / 2 + (w - b)**2"}},
                        .samples = 5000};
  const auto rung = rung_of(loss);
  const Vector<double> x{{1}};
  Vector<double> field(1);
  rung.rhs(x, field, 0);
  const auto errors = rung.errors(x);
  // E = (w^2 + 4)/2 + E (w - b)^2, of which the second part is exact; Var (w - x)^2/2 = (2 16 + 4 4)/4.
  CHECK(errors.gradient[0] == Approx(2 / std::sqrt(5000.)).epsilon(0.05));
  CHECK(errors.loss == Approx(std::sqrt(12 / 5000.)).epsilon(0.1));
  CHECK(std::abs(field[0] + 1 + 1) < 4 * errors.gradient[0]);
  CHECK(std::abs(observed_at(rung, x, "loss") - 3) < 4 * errors.loss);
  CHECK(observed_at(rung, x, "loss_error") == errors.loss);
  CHECK_THROWS_WITH(field_in_numpy(loss), Catch::Contains("is sampled"));
}

}  // namespace
}  // namespace sampled_loss_test
