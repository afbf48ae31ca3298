// What each assumption costs: relative distances of z between neighbouring rungs against
// eta_Z/eta_Y on the growth instance, at three vocabularies.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/quasi_static_flow.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::figures::rung_distances_figure {
namespace {

template <class Rung>
Vector<double> logits_at_end(const Rung& rung, const std::string& figure) {
  SolveRequest<double> request;
  request.end = 700;
  request.save_at = {700};
  request.relative_tolerance = 1e-10;
  request.absolute_tolerance = 1e-14;
  request.find_events = false;
  const Trajectory<double> run = solve(forget_type(rung), request);
  require_usable(run.outcome, figure);
  return rung.logits_at(run.last_state);
}

double apart(const Vector<double>& a, const Vector<double>& b) { return (a - b).norm() / b.norm(); }

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"eta_Z/eta_Y",          "flow-quasi_static", "quasi_static-fast_decoder",
              "fast_decoder-reduced", "size_reduced/flow", "M"};
  for (const Index tokens : {1000, 10'000, 100'000}) {
    for (int i = 0; i <= 8; ++i) {
      const double rate = std::pow(10.0, -4 + 0.5 * i);
      TrainingInstance<double> instance;
      instance.classes = growth_classes<double>();
      instance.classes.tokens = tokens;
      instance.attention_rate = rate;
      const Vector<double> flow = logits_at_end(PopulationFlow<double>(instance), request.name);
      const Vector<double> quasi = logits_at_end(QuasiStaticFlow<double>(instance), request.name);
      const Vector<double> fast =
          logits_at_end(PopulationFlow<double>(instance, DecoderRule::fast), request.name);
      const Vector<double> reduced = logits_at_end(ReducedFlow<double>(instance), request.name);
      csv.number(rate).number(apart(flow, quasi)).number(apart(quasi, fast));
      csv.number(apart(fast, reduced)).number(reduced.norm() / flow.norm());
      csv.number(static_cast<double>(tokens)).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, M = 1000, 1e4, 1e5: eta_Z/eta_Y, distances flow - quasi-static, quasi-static -
# fast-decoder, fast-decoder - reduced (relative, of z at t = 700), |z_reduced|/|z_flow|, M.
height = 2.6
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale xy
  set xrange [1e-4:1]
  set yrange [1e-4:5]
  set format xy '10^{%T}'
  set xlabel 'η_Z / η_Y'
  set ylabel 'relative distance of z' offset 0+right,0
  set key bottom right samplen 2
  plot name.'.csv' index 0 every ::1 using 1:3 with linespoints linetype 2 pointtype 5 pointsize 0.5 title 'quasi-static – fast-decoder', \
       name.'.csv' index 0 every ::1 using 1:2 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'flow – quasi-static', \
       name.'.csv' index 0 every ::1 using 1:4 with linespoints linetype 3 pointtype 9 pointsize 0.5 title 'fast-decoder – reduced', \
       name.'.csv' index 2 using 1:2 with lines linetype 1 dashtype 2 title 'M = 100 000', \
       name.'.csv' index 2 using 1:4 with lines linetype 3 dashtype 2 notitle, \
       name.'.csv' index 2 using 1:3 with lines linetype 2 dashtype 2 notitle, \
       x with lines linetype 7 dashtype 3 linewidth 0.6 title 'order 1'
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "scan-snap-rungs",
           .title =
               "Distances of neighbouring rungs against eta_Z/eta_Y: two vanish, one is a plateau",
           .shows = {"scan-snap.assumptions"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::scan_snap::figures::rung_distances_figure
