// Longer training: under l1 distances reach a minimum and rise again, and so does the loss; after
// normalisation they stay. Three weights, no noise.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::theorems::scb::figures::longer_training_figure {
namespace {

using namespace popgrad::scb;

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training =
      popgrad::scb::training<double>(request.parameters, request.seed);
  const Bigrams<double>& b = training.bigrams;
  // The loss at V = P, A = Q.
  const double least =
      (1 - b.stationary.squaredNorm()) / 2 - transition_size(b) * context_size(b) / 2;
  CsvText csv{"step",  "dist_P", "dist_Q", "excess_loss", "dist_P_normalised", "dist_Q_normalised",
              "lambda"};
  for (const double weight : {0.0, 0.001, 0.004}) {
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
      csv.number(run.t[i] / walk_request.step_size).number(dist_P[i]).number(dist_Q[i]);
      csv.number(loss[i] - least).number(left_P[i]).number(left_Q[i]).number(weight).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scb-longer",
               .title =
                   "Longer training under l1: distances and loss rise again, normalised ones stay",
               .shows = {"scb.hyperbola"},
               .parameters = data_law("3", "5000", "2")},
      .data = data};
}

}  // namespace popgrad::theorems::scb::figures::longer_training_figure
