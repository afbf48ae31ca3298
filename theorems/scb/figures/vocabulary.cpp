// The role of N, Q = 2, of the three-part algorithm:
//   sampled sequences  N in {3, 5, 10, 20}, T = 1000, B = 512
//   lumped law         N in {100, 500},     T = 10^5, B = 10^9
// K_P is about 1/(3 N), so lambda goes with it and the clock is K_P t.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::figures::vocabulary_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"K_P_t", "dist_P_normalised", "dist_Q_normalised", "N"};
  for (const Index tokens : {3, 5, 10, 20, 100, 500}) {
    const bool sampled = tokens <= 20;
    const Training<double> training =
        from_scratch(tokens, sampled ? 1000 : 100'000, 2, request.seed);
    const double size = transition_size(training.bigrams);
    Schedule schedule;
    schedule.l1_step = 0.002 / size;
    schedule.l1_weight = 0.04 * size;
    const AnyRung<double> rung =
        sampled
            ? forget_type(ThreePartDescent(training, schedule))
            : forget_type(LumpedThreePart(training, schedule, noise_at_solution(training.bigrams)));
    WalkRequest walk_request;
    // Both parts take one step size, so that steps make one clock.
    walk_request.step_size = schedule.l1_step;
    walk_request.steps = 4'000;
    walk_request.save_steps = evenly_spread_steps(walk_request.steps, 201);
    walk_request.batch = sampled ? 512 : 1'000'000'000;
    walk_request.seed = request.seed;
    const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
    const std::vector<double> dist_P = run.column("dist_P_normalised");
    const std::vector<double> dist_Q = run.column("dist_Q_normalised");
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      csv.number(size * run.t[i]).number(dist_P[i]).number(dist_Q[i]);
      csv.number(static_cast<double>(tokens)).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, N = 3, 5, 10, 20 (sequences), 100, 500 (noise): K_P t, normalised distances to P
# and Q, N.
height = 3.6
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.96,0.10,0.98 spacing 0,0.05
  set logscale y
  set format y '10^{%T}'
  set xrange [0:8]
  set format x ''
  set key top right maxrows 3 samplen 1.5
  set yrange [0.0005:3]
  set ylabel '‖V − P‖_μ, normalised' offset 0+right,0
  plot for [i=0:3] data index i every ::(i==0) using 1:2 with lines linetype i+1 title sprintf('N = %s', word('3 5 10 20', i+1)), \
       data index 4 using 1:2 with lines linetype 5 dashtype 2 title 'N = 100, noise', \
       data index 5 using 1:2 with lines linetype 7 dashtype 2 title 'N = 500, noise'
  set format x '%g'
  set yrange [0.01:3]
  set xlabel 'K_P t'
  set ylabel '‖A − Q‖_μ, normalised' offset 0+right,0
  plot for [i=0:3] data index i every ::(i==0) using 1:3 with lines linetype i+1 notitle, \
       data index 4 using 1:3 with lines linetype 5 dashtype 2 notitle, \
       data index 5 using 1:3 with lines linetype 7 dashtype 2 notitle
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-vocabulary",
                   .title = "The role of N: three parts from 3 tokens to 500",
                   .shows = {"scb.convergence"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::vocabulary_figure
