// The two initialisations of V on the population flow: mu 1', and 11'/N, which is off the
// constraint V mu = mu. Projected steps keep what it lacks; unprojected ones mend it, and leave S_k
// free. N = 3, T = 200, Q = 2.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::figures::starts_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"t", "dist_P", "dist_Q", "loss", "S_mean"};
  for (const bool uniform : {false, true}) {
    for (const bool project : {true, false}) {
      Training<double> training = scb::training<double>(request.parameters, request.seed);
      if (uniform) training.start.setConstant(1.0 / static_cast<double>(training.bigrams.tokens()));
      training.project = project;
      SolveRequest<double> solve_request;
      // Transitions are about 1/(3 N) in size, and the time to learn them goes with N.
      solve_request.end = 400 * static_cast<double>(training.bigrams.tokens()) / 3;
      solve_request.save_at = equally_spaced(0.0, solve_request.end, 401);
      solve_request.relative_tolerance = 1e-9;
      solve_request.absolute_tolerance = 1e-12;
      solve_request.find_events = false;
      const auto run = solve(forget_type(PopulationFlow<double>(training)), solve_request);
      require_usable(run.outcome, request.name);
      const std::vector<double> dist_P = run.column("dist_P");
      const std::vector<double> dist_Q = run.column("dist_Q");
      const std::vector<double> loss = run.column("loss");
      const std::vector<double> mass = run.column("S_mean");
      for (std::size_t i = 0; i < run.rows.size(); ++i) {
        csv.number(run.t[i]).number(dist_P[i]).number(dist_Q[i]).number(loss[i]).number(mass[i]);
        csv.end_row();
      }
      csv.end_block();
    }
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: mu 1' projected, mu 1' unprojected, 11'/N projected, 11'/N unprojected: t, distances
# to P and Q, loss, mean of S.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.16,0.96,0.09,0.98 spacing 0,0.045
  eval x_range('0:400', '0:*')
  set format x ''
  set logscale y
  set format y '10^{%T}'
  set key top right
  set ylabel '‖V − P‖_μ' offset 0+right,0
  set ytics autofreq
  eval y_range('0.005:20', '*:*')
  plot data index 0 every ::1 using 1:2 with lines linetype 1 linewidth 2.4 title 'V = μ1ᵀ, projected', \
       data index 2 using 1:2 with lines linetype 5 dashtype 3 title 'V = 11ᵀ/N, projected', \
       data index 1 using 1:2 with lines linetype 3 dashtype 2 title 'V = μ1ᵀ, not projected', \
       data index 3 using 1:2 with lines linetype 2 title 'V = 11ᵀ/N, not projected'
  set ylabel '‖A − Q‖_μ' offset 0+right,0
  eval y_range('0.1:1', '*:*')
  plot data index 0 every ::1 using 1:3 with lines linetype 1 linewidth 2.4 notitle, \
       data index 2 using 1:3 with lines linetype 5 dashtype 3 notitle, \
       data index 1 using 1:3 with lines linetype 3 dashtype 2 notitle, \
       data index 3 using 1:3 with lines linetype 2 notitle
  unset logscale y
  if (own eq '0') { set ytics 0.05 }
  set format '%g'
  set xlabel 't'
  set ylabel 'mean of Σ_t a_t' offset 0+right,0
  set autoscale y
  plot data index 0 every ::1 using 1:5 with lines linetype 1 linewidth 2.4 notitle, \
       data index 2 using 1:5 with lines linetype 5 dashtype 3 notitle, \
       data index 1 using 1:5 with lines linetype 3 dashtype 2 notitle, \
       data index 3 using 1:5 with lines linetype 2 notitle
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-starts",
                   .title = "Both initialisations of V, with and without projection",
                   .shows = {"scb.reduction", "scb.starts"},
                   .parameters = data_law("3", "200", "2")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::starts_figure
