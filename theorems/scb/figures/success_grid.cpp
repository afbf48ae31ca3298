// Success rates over grids of hyperparameters: batch against step size, batch against the weight of
// l1. A run of the whole algorithm succeeds if both normalised distances are at most 0.1 at
// K_P t = 8. N = 3, T = 1000, Q = 2, lumped law, 12 runs a cell.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::scb::figures::success_grid_figure {
namespace {

constexpr std::uint32_t runs = 12;
constexpr const char* step_sizes = "step size η";
constexpr const char* weights = "weight of l1, λ";

double success_rate(const Training<double>& training, const NoiseLevels& levels,
                    const Schedule& schedule, double step, Index batch,
                    const FigureRequest& request) {
  const AnyRung<double> rung = forget_type(LumpedThreePart(training, schedule, levels));
  WalkRequest walk_request;
  walk_request.step_size = step;
  const double time = 8 / transition_size(training.bigrams);
  walk_request.steps = static_cast<std::uint64_t>(std::ceil(time / step));
  walk_request.save_steps = {walk_request.steps};
  walk_request.batch = batch;
  walk_request.runs = runs;
  walk_request.seed = request.seed;
  walk_request.jobs = request.jobs;
  int successes = 0;
  for (const Trajectory<double>& run : walk(rung, rung.initial, walk_request)) {
    if (run.rows.empty()) continue;  // it diverged
    successes += run.column("dist_P_normalised").back() <= 0.1 &&
                         run.column("dist_Q_normalised").back() <= 0.1
                     ? 1
                     : 0;
  }
  return static_cast<double>(successes) / runs;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  FigureTable table;
  constexpr int values = 7;  // of either
  for (const bool over_steps : {true, false}) {
    table.block(over_steps ? step_sizes : weights);
    for (int i = 0; i < values; ++i) {
      request.done((over_steps ? i : values + i) / (2.0 * values));
      const double value =
          over_steps ? std::pow(10.0, -2.25 + 0.25 * i) : std::pow(10.0, -4 + 0.5 * i);
      for (int power = 2; power <= 14; power += 2) {
        Schedule schedule;
        if (!over_steps) schedule.l1_weight = value;
        const double step = over_steps ? value : 0.02;
        schedule.l1_step = step;
        table.add("log2_B", power, "log10_eta_or_lambda", std::log10(value), "rate",
                  success_rate(training, levels, schedule, step, Index{1} << power, request));
      }
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto panel = [](const char* name, const Axis& y) {
    return Panel{
        .x = {.range = "1:15", .tics = "(2, 6, 10, 14)", .format = "2^{%g}"},
        .y = y,
        .curves = {plot::image("log2_B", "log10_eta_or_lambda", "rate").of(name)},
        .colours = {.range = "0:1", .label = "share of runs that succeed", .tics = "0.25"}};
  };
  const Panel steps = panel(step_sizes, {.label = step_sizes,
                                         .range = "-2.375:-0.625",
                                         .tics = "('0.01' -2, '0.03' -1.5, '0.1' -1)"});
  Panel l1 =
      panel(weights, {.label = weights, .range = "-4.25:-0.75", .tics = "1", .format = "10^{%g}"});
  l1.x.label = "batch size B";
  return {.height = 4.2, .right = 0.8, .panels = {steps, l1}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-grid",
                   .title = "Success rates over batch, step size and weight of `l1`",
                   .shows = {"scb.convergence", "scb.l1-needed"},
                   .parameters = data_law("3", "1000", "2")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::success_grid_figure
