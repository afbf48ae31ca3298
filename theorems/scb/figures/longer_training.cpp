// Longer training: under l1 distances reach a minimum and rise again, and so does the loss; after
// normalisation they stay. Three weights, no noise.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::scb::figures::longer_training_figure {
namespace {

constexpr std::array<double, 3> weights{0.0, 0.001, 0.004};
std::string name_of(double weight) { return fmt::format("λ = {:g}", weight); }

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
  const Bigrams<double>& b = training.bigrams;
  // The loss at V = P, A = Q.
  const double least =
      (1 - b.stationary.squaredNorm()) / 2 - transition_size(b) * context_size(b) / 2;
  FigureTable table;
  for (const double weight : weights) {
    table.block(name_of(weight));
    Schedule schedule;
    schedule.l1_weight = weight;
    schedule.l1_step = 0.01;
    const AnyRung<double> rung =
        forget_type(LumpedThreePart(training, schedule, no_noise(b.tokens())));
    WalkRequest walk_request;
    walk_request.step_size = 0.02;
    walk_request.steps = 200'000;
    for (int i = 0; i <= 240; ++i) {
      const auto step = static_cast<std::uint64_t>(std::pow(10.0, 2 + i * 3.301 / 240));
      auto& saves = walk_request.save_steps;
      if (step <= walk_request.steps && (saves.empty() || saves.back() < step)) {
        saves.push_back(step);
      }
    }
    const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
    const std::vector<double> dist_P = run.column("dist_P");
    const std::vector<double> dist_Q = run.column("dist_Q");
    const std::vector<double> loss = run.column("loss");
    const std::vector<double> left_P = run.column("dist_P_normalised");
    const std::vector<double> left_Q = run.column("dist_Q_normalised");
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      table.add("step", run.t[i] / walk_request.step_size, "dist_P", dist_P[i], "dist_Q", dist_Q[i],
                "excess_loss", loss[i] - least, "dist_P_normalised", left_P[i], "dist_Q_normalised",
                left_Q[i], "lambda", weight);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto panel = [](const std::string& column, const Axis& y) {
    Panel made{.x = {.range = "100:2e5", .logarithmic = true}, .y = y, .curves = {}};
    made.y.logarithmic = true;
    made.y.own_range = "*:*";
    for (std::size_t i = 0; i < weights.size(); ++i) {
      made.curves.push_back(plot::line("step", column)
                                .of(name_of(weights[i]))
                                .colour(i == 0 ? 3 : static_cast<int>(i))
                                .titled(name_of(weights[i])));
    }
    return made;
  };
  const auto normalised = [](const std::string& column) {
    return plot::line("step", column)
        .of(name_of(weights.back()))
        .colour(2)
        .dashed()
        .titled("normalised");
  };
  Panel values = panel("dist_P", {.label = "‖V − P‖_μ", .range = "3e-4:5"});
  values.key = "bottom left";
  values.curves.push_back(normalised("dist_P_normalised"));
  Panel attention = panel("dist_Q", {.label = "‖A − Q‖_μ", .range = "3e-3:2"});
  attention.curves.push_back(normalised("dist_Q_normalised"));
  Panel loss = panel("excess_loss", {.label = "excess loss", .range = "1e-7:1"});
  loss.x.label = "step";
  return {.height = 4.2, .panels = {values, attention, loss}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "scb-longer",
           .title =
               "Longer training under `l1`: distances and loss rise again, normalised ones stay",
           .shows = {"scb.hyperbola"},
           .parameters = data_law("3", "5000", "2")},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::scb::figures::longer_training_figure
