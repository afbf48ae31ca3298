// Phase portrait of the reduced flow with noisy runs over it: the saddle-like start, the hyperbola
// alpha_A alpha_V = 1, both branches. N = 3, T = 200, Q = 2.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/lumped_descent.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::figures::phase_portrait_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
  const ReducedFlow<double> flow(training);
  CsvText field{"alpha_V", "alpha_A", "d_alpha_V", "d_alpha_A"};
  for (int i = 0; i <= 16; ++i) {
    for (int j = 0; j <= 12; ++j) {
      Vector<double> x(3);
      x << -2.4 + 0.3 * i, -1.2 + 0.2 * j, 0;
      Vector<double> dx(3);
      flow.rhs(x, dx, 0.0);
      // One length for all: the direction is what is shown; axes have different scales.
      const double size = std::hypot(dx[0] / 0.3, dx[1] / 0.2);
      field.number(x[0]).number(x[1]).number(0.7 * dx[0] / size).number(0.7 * dx[1] / size);
      field.end_row();
    }
  }
  CsvText runs{"alpha_V", "alpha_A"};
  const auto add = [&](const Trajectory<double>& run) {
    const std::vector<double> alpha_V = run.column("alpha_V");
    const std::vector<double> alpha_A = run.column("alpha_A");
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      runs.number(alpha_V[i]).number(alpha_A[i]).end_row();
    }
    runs.end_block();
  };
  // Transitions are about 1/(3 N) in size, and the time to learn them goes with N.
  const double slowness = static_cast<double>(training.bigrams.tokens()) / 3;
  SolveRequest<double> solve_request;
  solve_request.end = 400 * slowness;
  solve_request.save_at = equally_spaced(0.0, solve_request.end, 801);
  solve_request.relative_tolerance = 1e-9;
  solve_request.absolute_tolerance = 1e-12;
  solve_request.find_events = false;
  add(solve(forget_type(flow), solve_request));
  const AnyRung<double> noisy = forget_type(LumpedDescent(training, [&] {
    NoiseLevels levels = noise_at_solution(training.bigrams);
    levels.shape = NoiseShape::constant;
    return levels;
  }()));
  WalkRequest walk_request;
  walk_request.step_size = 0.02;
  walk_request.steps = static_cast<std::uint64_t>(6000 * slowness);
  walk_request.save_steps = evenly_spread_steps(walk_request.steps, 601);
  walk_request.batch = 64;
  walk_request.runs = 6;
  walk_request.seed = request.seed;
  for (const Trajectory<double>& run : walk(noisy, noisy.initial, walk_request)) add(run);
  return {{request.name + "-field.csv", field.text()}, {request.name + ".csv", runs.text()}};
}

constexpr const char* script =
    R"gp(# .csv: a block a run, the reduced flow first: alpha_V, alpha_A. -field.csv: directions.
height = 3
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.13
  set rmargin at screen 0.97
  set bmargin at screen 0.13
  set tmargin at screen 0.87
  set xrange [-2.5:2.5]
  set yrange [-1.3:1.3]
  set samples 1000
  set xlabel 'α_V'
  set ylabel 'α_A' offset 0.5+right,0
  set key at screen 0.55, screen 0.985 center top horizontal maxcols 2 samplen 1.5
  plot name.'-field.csv' every ::1 using ($1-$3/2*0.4):($2-$4/2*0.28):($3*0.4):($4*0.28) with vectors head filled size screen 0.008,20 linecolor rgb '#bbbbbb' linewidth 0.5 notitle, \
       for [i=1:6] name.'.csv' index i using 1:2 with lines linetype 2 linewidth 0.6 title (i == 1 ? 'noisy runs' : ''), \
       name.'.csv' index 0 every ::1 using 1:2 with lines linetype 1 linewidth 2 title 'reduced flow', \
       (x > 0.5 || x < -0.5 ? 1/x : NaN) with lines linetype 7 dashtype 3 linewidth 0.6 title 'α_A α_V = 1', \
       '+' using (1):(1) every ::0::0 with points linetype 7 pointtype 7 pointsize 0.6 title 'solution'
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-phase",
                   .title = "Reduced flow: phase portrait with noisy runs over it",
                   .in_report = true,
                   .shows = {"scb.reduction", "scb.fixed-points", "scb.branch"},
                   .parameters = data_law("3", "200", "2")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::phase_portrait_figure
