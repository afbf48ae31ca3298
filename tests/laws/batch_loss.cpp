/// Laws of columns of samples: the mean loss of minibatches is the loss where samples are long, and the direction of the
/// same minibatch descends it; averages, moving averages and losses of held-out draws are made of single ones.

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "laws/cases.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad::laws::batch_loss_laws {
namespace {

constexpr Index batch = 5;

struct Sample {
  Vector<double> direction, slope;  // of the same minibatch: that of a step, and of the loss
};

Sample sample_at(const AnyRung<double>& rung, const Vector<double>& x, const Stream& stream,
                 const std::vector<Index>& coordinates) {
  constexpr double width = 1e-6;
  Sample made{Vector<double>(rung.dimension), Vector<double>(std::ssize(coordinates))};
  Stream own = stream;
  rung.draws.sample(x, made.direction, own, batch);
  const auto loss = [&](Index i, double by) {
    Vector<double> moved = x;
    moved[i] += by;
    Stream again = stream;
    return rung.draws.loss(moved, again, batch);
  };
  for (std::size_t k = 0; k < coordinates.size(); ++k) {
    const Index i = coordinates[k];
    made.slope[static_cast<Index>(k)] = (loss(i, width) - loss(i, -width)) / (2 * width);
  }
  return made;
}

}  // namespace

// A rate of its own for each number, as preconditioners and columns that stand for several tokens have it.
TEST_CASE("laws: the direction of a minibatch descends its loss", "[law]") {
  std::map<std::string, int> compared;
  for (const Case& made : cases()) {
    const AnyRung<double> rung = made.make();
    if (!rung.draws.loss || rung.dimension > 3000) continue;
    // Projected, or of embeddings that are not orthonormal, it is not that of descent.
    if (made.parameters.has("embedding-dimension") || made.parameters.has("track-growth")) continue;
    if (made.model->name() == "scb" && made.parameters.text("project", "true") != "false") continue;
    const Vector<double> x = points(made, rung)[1].x;
    std::vector<Index> coordinates;
    for (Index i = 0; i < rung.dimension; i += 1 + rung.dimension / 12) coordinates.push_back(i);
    const Sample one = sample_at(rung, x, {made.seed, 3, 5}, coordinates);
    const Sample other = sample_at(rung, x, {made.seed, 3, 6}, coordinates);
    INFO(made.text());
    const double size = one.slope.norm() * other.direction.norm();
    for (std::size_t k = 0; k < coordinates.size(); ++k) {
      const auto at = static_cast<Index>(k);
      const double here = one.direction[coordinates[k]], there = other.direction[coordinates[k]];
      CHECK(here * other.slope[at] ==
            Approx(there * one.slope[at]).epsilon(1e-5).margin(1e-7 * size));
      CHECK(here * one.slope[at] <= 1e-7 * size);
    }
    ++compared[made.model->name() + " " + made.rung.name];
  }
  for (const char* name :
       {"joma sgd", "joma multilayer-sgd", "scan-snap sgd", "scb sgd", "topic sgd"}) {
    INFO(name);
    CHECK(compared[name] > 1);
  }
}

namespace {

struct LongSamples {
  const char* model;
  Record parameters;
  double finite;  // share by which samples of a length change the loss
};

}  // namespace

TEST_CASE("laws: the mean loss of minibatches is the loss where samples are long", "[law]") {
  const std::vector<LongSamples> all{
      {"joma", {{"law", "uniform"}}, 0},
      {"scan-snap", {{"T", 4000}}, 2e-3},
      {"scb", {{"N", 3}, {"T", 6}, {"Q", 2}}, 0},
      {"topic", {{"T", 3}, {"tau", 2}, {"v", 2}, {"N", 3000}}, 2e-3}};
  for (const LongSamples& of : all) {
    INFO(of.model);
    const Model& model = find_model(theories(), of.model);
    const AnyRung<double> rung = model.rung("sgd", Parameters(of.model, of.parameters), 3);
    WalkRequest request;
    request.step_size = 0.1;
    request.steps = 20;
    request.save_steps = {20};
    request.batch = 16;
    request.runs = 1;
    request.sampled.loss = true;
    const Trajectory<double> run = walk(rung, rung.initial, request).front();
    REQUIRE(run.columns.back() == batch_loss_column);
    const Vector<double> x = run.last_state;
    // The minibatch of the step after the last, of this run.
    Stream next(request.seed, 0, 20);
    CHECK(run.rows.front().back() == rung.draws.loss(x, next, request.batch));
    constexpr int draws = 2000;
    Vector<double> seen(draws);
    for (int i = 0; i < draws; ++i) {
      Stream stream(11, 1, static_cast<std::uint64_t>(i));
      seen[i] = rung.draws.loss(x, stream, request.batch);
    }
    const double mean = seen.mean();
    const double error = std::sqrt((seen.array() - mean).square().mean() / draws);
    const double loss = observed_at(rung, x, "loss");
    CHECK(error < 0.02 * loss);
    CHECK(std::fabs(mean - loss) <= 6 * error + of.finite * loss);
  }
}

namespace {

double error_of_mean(const Vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  return std::sqrt((values.array() - values.mean()).square().sum() / (n * (n - 1)));
}

struct Ensemble {
  const char* model;
  Record parameters;
  double step_size;
  std::uint32_t runs;
  double finite;  // share by which samples of a length change the loss
  // In one step, by more than the runs leave unsure: the loss falls; a minibatch fits better after its own step.
  bool falls, fits_better;
};

}  // namespace

// Given the state, the next minibatch is drawn independently of everything before it.
TEST_CASE("laws: a minibatch of the step before or after its own has another mean loss",
          "[law][sampled]") {
  constexpr std::uint64_t at = 4;
  const std::vector<Ensemble> all{
      {"joma", {{"law", "uniform"}}, 0.5, 2000, 0, false, true},
      {"scan-snap", {{"T", 4000}}, 2, 200, 2e-3, true, true},
      {"scb", {{"N", 3}, {"T", 6}, {"Q", 2}}, 0.2, 2000, 0, false, true},
      {"topic", {{"T", 3}, {"tau", 2}, {"v", 2}, {"N", 3000}}, 0.5, 200, 2e-3, true, false}};
  for (const Ensemble& of : all) {
    INFO(of.model);
    const AnyRung<double> rung =
        find_model(theories(), of.model).rung("sgd", Parameters(of.model, of.parameters), 3);
    WalkRequest request;
    request.step_size = of.step_size;
    request.steps = at + 1;
    request.save_steps = {at, at + 1};
    request.batch = 4;
    request.runs = of.runs;
    request.sampled.loss = true;
    const std::vector<Trajectory<double>> runs = walk(rung, rung.initial, request);
    Vector<double> same(of.runs), later(of.runs), after(of.runs), with_loss(of.runs);
    const auto place = static_cast<std::size_t>(place_of(rung.observables.columns, loss_column));
    double mean = 0;
    for (const Trajectory<double>& run : runs) mean += run.rows[0][place] / of.runs;
    for (std::uint32_t r = 0; r < of.runs; ++r) {
      const std::vector<double>& now = runs[r].rows[0];
      const std::vector<double>& next = runs[r].rows[1];
      same[r] = now.back() - now[place];
      with_loss[r] = same[r] * (now[place] - mean);
      later[r] = next.back() - now[place];
      Stream stream(request.seed, r, at);
      after[r] = rung.draws.loss(runs[r].last_state, stream, request.batch) - next[place];
    }
    CHECK(std::fabs(same.mean()) < 4.5 * error_of_mean(same) + of.finite * mean);
    CHECK(std::fabs(with_loss.mean()) < 4.5 * error_of_mean(with_loss));
    if (of.falls) CHECK(later.mean() < -6 * error_of_mean(later) - of.finite * mean);
    if (of.fits_better) CHECK(after.mean() < -6 * error_of_mean(after) - of.finite * mean);
  }
}

TEST_CASE("laws: averages over rows and steps are those of single minibatches", "[law][sampled]") {
  constexpr double weight = 0.6;
  const AnyRung<double> rung =
      find_model(theories(), "scan-snap").rung("sgd", Parameters("scan-snap", {{"T", 30}}), 3);
  WalkRequest request;
  request.step_size = 0.5;
  request.steps = 12;
  request.batch = 4;
  request.runs = 2;
  request.sampled.loss = request.sampled.accuracy = true;
  for (std::uint64_t k = 0; k <= request.steps; ++k) request.save_steps.push_back(k);
  const std::vector<Trajectory<double>> all = walk(rung, rung.initial, request);
  request.save_steps = {0, 3, 4, 12};
  request.sampled.averaged = true;
  const std::vector<Trajectory<double>> averaged = walk(rung, rung.initial, request);
  request.sampled.smoothing = weight;
  const std::vector<Trajectory<double>> smoothed = walk(rung, rung.initial, request);
  REQUIRE(averaged.front().columns.back() == batch_accuracy_column);
  for (std::size_t run = 0; run < 2; ++run) {
    for (const char* column : {batch_loss_column, batch_accuracy_column, loss_column}) {
      CAPTURE(run, column);
      const std::vector<double> each = curve(all[run], column),
                                of_rows = curve(averaged[run], column),
                                moving = curve(smoothed[run], column);
      double last = 0, share = 0;
      for (std::size_t k = 0; k < of_rows.size(); ++k) {
        const auto end = static_cast<std::ptrdiff_t>(request.save_steps[k]);
        const auto begin = static_cast<std::ptrdiff_t>(k == 0 ? 0 : request.save_steps[k - 1]);
        const double mean = column == loss_column || k == 0
                                ? each[static_cast<std::size_t>(end)]
                                : std::accumulate(each.begin() + begin, each.begin() + end, 0.0) /
                                      static_cast<double>(end - begin);
        CHECK(of_rows[k] == Approx(mean).epsilon(1e-13));
        // As TensorBoard makes them: a moving average from 0, divided by what it is of ones.
        last = weight * last + (1 - weight) * mean;
        share = weight * share + (1 - weight);
        CHECK(moving[k] == Approx(last / share).epsilon(1e-13));
      }
    }
  }
}

// The loss of m held-out draws has the mean of the loss; its deviation at the start, where runs are equal, falls as
// 1/sqrt(m), and it stays on one side from row to row.
TEST_CASE("laws: the loss on held-out draws is that of one sample in all rows", "[law][sampled]") {
  constexpr std::uint32_t runs = 400;
  const AnyRung<double> rung =
      find_model(theories(), "scb")
          .rung("sgd", Parameters("scb", {{"N", 3}, {"T", 6}, {"Q", 2}}), 3);
  WalkRequest request;
  request.step_size = 0.05;
  request.steps = 4;
  request.save_steps = {0, 4};
  request.batch = 16;
  request.runs = runs;
  const std::vector<Trajectory<double>> law = walk(rung, rung.initial, request);
  const auto off_at = [&](Index draws) {
    request.sampled.held_out = draws;
    const std::vector<Trajectory<double>> made = walk(rung, rung.initial, request);
    Matrix<double> off(2, runs);
    for (std::uint32_t r = 0; r < runs; ++r) {
      for (const Index k : {0, 1}) {
        const auto row = static_cast<std::size_t>(k);
        off(k, r) = curve(made[r], loss_column)[row] - curve(law[r], loss_column)[row];
      }
    }
    return off;
  };
  const Matrix<double> few = off_at(20), many = off_at(320);
  for (const Matrix<double>& off : {few, many}) {
    for (const Index k : {0, 1}) {
      const Vector<double> row = off.row(k);
      CHECK(std::fabs(row.mean()) < 4.5 * error_of_mean(row));
    }
    CHECK(off.row(0).dot(off.row(1)) > 0.9 * off.row(0).norm() * off.row(1).norm());
  }
  CHECK(few.row(0).norm() / many.row(0).norm() == Approx(4).epsilon(0.2));
}

// After a few steps of few draws, which leave some answers wrong.
TEST_CASE("laws: the mean accuracy of minibatches is the accuracy where samples are long",
          "[law][sampled]") {
  const std::vector<std::pair<const char*, const char*>> rungs{{"scan-snap", "sgd"},
                                                               {"joma", "multilayer-sgd"}};
  for (const auto& [model, name] : rungs) {
    INFO(model);
    const Record parameters = model == std::string("joma") ? Record{} : Record{{"T", 2000}};
    const AnyRung<double> rung =
        find_model(theories(), model).rung(name, Parameters(model, parameters), 3);
    WalkRequest request;
    request.step_size = 0.5;
    request.steps = 2;
    request.batch = 1;
    const Vector<double> x = walk(rung, rung.initial, request).front().last_state;
    const double accuracy = observed_at(rung, x, "accuracy");
    CHECK(accuracy > 0.02);
    CHECK(accuracy < 0.98);
    constexpr int draws = 400;
    Vector<double> off(draws);
    for (int i = 0; i < draws; ++i) {
      Stream stream(11, 1, static_cast<std::uint64_t>(i));
      off[i] = rung.draws.accuracy(x, stream, batch) - accuracy;
    }
    CHECK(off.norm() > 0);
    CHECK(std::fabs(off.mean()) < 4.5 * error_of_mean(off));
  }
}

}  // namespace popgrad::laws::batch_loss_laws
