// Longer training: under l1 distances reach a minimum and rise again, and so does the loss; after
// normalisation they stay. Three weights, no noise.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::scb::figures::longer_training_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
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

constexpr const char* script =
    R"gp(# Blocks of .csv, lambda = 0, 0.001, 0.004: step, distances to P and Q, excess loss, both distances
# after normalisation, lambda.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.16,0.96,0.09,0.98 spacing 0,0.045
  set logscale xy
  set xrange [100:2e5]
  set format x ''
  set format y '10^{%T}'
  set key bottom left
  set ylabel '‖V − P‖_μ' offset 0+right,0
  eval y_range('3e-4:5', '*:*')
  plot data index 0 using 1:2 with lines linetype 3 title 'λ = 0', \
       data index 1 using 1:2 with lines linetype 1 title 'λ = 0.001', \
       data index 2 using 1:2 with lines linetype 2 title 'λ = 0.004', \
       data index 2 using 1:5 with lines linetype 2 dashtype 2 title 'normalised'
  set ylabel '‖A − Q‖_μ' offset 0+right,0
  eval y_range('3e-3:2', '*:*')
  plot data index 0 using 1:3 with lines linetype 3 notitle, \
       data index 1 using 1:3 with lines linetype 1 notitle, \
       data index 2 using 1:3 with lines linetype 2 notitle, \
       data index 2 using 1:6 with lines linetype 2 dashtype 2 notitle
  set ylabel 'excess loss' offset 0+right,0
  eval y_range('1e-7:1', '*:*')
  set format x '10^{%T}'
  set xlabel 'step'
  plot data index 0 using 1:4 with lines linetype 3 notitle, \
       data index 1 using 1:4 with lines linetype 1 notitle, \
       data index 2 using 1:4 with lines linetype 2 notitle
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "scb-longer",
               .title =
                   "Longer training under l1: distances and loss rise again, normalised ones stay",
               .shows = {"scb.hyperbola"},
               .parameters = data_law("3", "5000", "2")},
      .data = data,
      .script = script};
}

}  // namespace popgrad::scb::figures::longer_training_figure
