// Normalised distances to P and Q and the loss: plain noisy descent, the same with part 2 of the
// three-part algorithm, and part 2 without noise. N = 3, T = 5000, Q = 2, B = 64.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::scb::figures::training_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
  const NoiseLevels levels = noise_at_solution(training.bigrams);
  CsvText csv{"step", "dist_P", "dist_Q", "loss"};
  for (const int curve : {0, 1, 2}) {
    Schedule schedule;
    if (curve == 0) {
      // Never leaves part 1.
      schedule.boost_until = 1e9;
      schedule.boost_steps = 1'000'000'000;
    }
    const AnyRung<double> rung = forget_type(LumpedThreePart(training, schedule, levels));
    WalkRequest walk_request;
    walk_request.step_size = 0.01;
    // Transitions are about 1/(3 N) in size, and the time to learn them goes with N.
    walk_request.steps = static_cast<std::uint64_t>(14'000 * training.bigrams.tokens() / 3);
    walk_request.save_steps = evenly_spread_steps(walk_request.steps, 281);
    walk_request.batch = curve == 2 ? 0 : 64;
    walk_request.seed = request.seed;
    const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
    const std::vector<double> dist_P = run.column("dist_P_normalised");
    const std::vector<double> dist_Q = run.column("dist_Q_normalised");
    const std::vector<double> loss = run.column("loss");
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      csv.number(run.t[i] / walk_request.step_size).number(dist_P[i]).number(dist_Q[i]);
      csv.number(loss[i]).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: plain, l1, l1 without noise: step, normalised distances to P and Q, loss.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.16,0.96,0.09,0.95 spacing 0,0.045
  eval x_range('0:14000', '0:*')
  set format x ''
  if (own eq '0') { set xtics 4000 }
  set key at screen 0.56, screen 0.995 center top horizontal maxcols 3 samplen 1.5 width -1
  set ylabel '‖V − P‖_μ, normalised' offset 0+right,0
  set logscale y
  set format y '10^{%T}'
  eval y_range('0.001:0.5', '*:*')
  plot data index 0 using 1:2 with lines linetype 2 title 'plain', \
       data index 1 using 1:2 with lines linetype 1 title 'threshold and l1', \
       data index 2 using 1:2 with lines linetype 1 dashtype 2 title 'the same, no noise'
  set ylabel '‖A − Q‖_μ, normalised' offset 0+right,0
  eval y_range('0.005:2', '*:*')
  plot data index 0 using 1:3 with lines linetype 2 notitle, \
       data index 1 using 1:3 with lines linetype 1 notitle, \
       data index 2 using 1:3 with lines linetype 1 dashtype 2 notitle
  unset logscale y
  set format y '%g'
  set format x (own eq '0' ? '%g' : '%.0s%c')
  set xlabel 'step'
  set ylabel 'loss' offset 0+right,0
  set autoscale y
  plot data index 0 using 1:4 with lines linetype 2 notitle, \
       data index 1 using 1:4 with lines linetype 1 notitle, \
       data index 2 using 1:4 with lines linetype 1 dashtype 2 notitle
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-training",
                   .title = "Distances to P and Q and loss: plain descent, threshold and l1",
                   .in_report = true,
                   .shows = {"scb.convergence", "scb.l1-needed"},
                   .parameters = data_law("3", "5000", "2")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::training_figure
