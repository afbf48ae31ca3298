/// Laws of the loss of a minibatch: its mean is the loss where samples are long, and the direction of the same
/// minibatch descends it.

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "laws/cases.hpp"
#include "popgrad/evidence/theories.hpp"
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
    request.batch_loss = true;
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

}  // namespace popgrad::laws::batch_loss_laws
