// How far apart the runs from both starts of V, mu 1' and 11'/N, end as N grows: squared distances
// after the growth of the population flow, with projected gradients and without. Laws with mu N
// drawn within 1 +- 0.5, T = 1000, Q = 2, three instances; the second table has the exponents of N.

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "statistics/critical.hpp"
#include "theorems/scb/checks/tilted_law.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::figures::starts_order_figure {
namespace {

// Squared distances of V and of A in |.|_mu between the runs from both starts, after the growth.
std::array<double, 2> apart_at_end(Training<double> training, bool project,
                                   const FigureRequest& request) {
  const Bigrams<double>& b = training.bigrams;
  const Index n = b.tokens();
  training.project = project;
  SolveRequest<double> solve_request;
  const double rate = std::sqrt(transition_size(b) * context_size(b));
  // Beyond alpha_A alpha_V = 1, by ten growth times.
  solve_request.end = (std::log(static_cast<double>(b.context)) + 10) / rate;
  solve_request.save_at = {solve_request.end};
  solve_request.relative_tolerance = 1e-10;
  solve_request.absolute_tolerance = 1e-13;
  solve_request.find_events = false;
  solve_request.keep_states = true;
  std::array<Vector<double>, 2> ends;
  for (Vector<double>& end : ends) {
    const auto run = solve(forget_type(PopulationFlow<double>(training)), solve_request);
    require_usable(run.outcome, request.name);
    end = run.states.back();
    training.start.setConstant(1.0 / static_cast<double>(n));
  }
  const Vector<double> gap = ends[0] - ends[1];
  double attention = 0;
  Index at = n * n;
  for (Index k = 0; k < n; ++k) {
    const double rest = gap[at + b.support(k)];
    attention += b.stationary[k] * (gap.segment(at, b.support(k)).squaredNorm() +
                                    static_cast<double>(b.context - b.support(k)) * rest * rest);
    at += b.support(k) + 1;
  }
  return {stationary_square(Matrix<double>(gap.head(n * n).reshaped(n, n)), b.stationary),
          attention};
}

// Against N, and exponents whose intervals are those of the scatter about a power.
std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"N", "projected", "dist_V_squared", "dist_A_squared", "offset_squared"};
  CsvText fits{"projected", "exponent_of_N", "half_width"};
  for (const bool project : {true, false}) {
    std::vector<double> sizes;
    std::vector<Crossing> distances;
    for (const Index tokens : {3, 10, 30, 100, 300}) {
      for (std::uint64_t instance = 0; instance < 3; ++instance) {
        const Training<double> training =
            scb::checks::tilted_training(tokens, 1000, 0.5, request.seed + instance);
        const auto [values, attention] = apart_at_end(training, project, request);
        const double offset =
            (training.bigrams.stationary.array() - 1.0 / static_cast<double>(tokens))
                .square()
                .sum();
        csv.number(static_cast<double>(tokens)).number(project ? 1 : 0).number(values);
        csv.number(attention).number(offset).end_row();
        sizes.push_back(static_cast<double>(tokens));
        Crossing& distance = distances.emplace_back();
        distance.size = distance.low = distance.high = values;
      }
    }
    csv.end_block();
    const Exponent exponent = fit_exponent(sizes, distances);
    fits.number(project ? 1 : 0).number(exponent.value).number(exponent.half_width).end_row();
  }
  return {{request.name + ".csv", csv.text()}, {request.name + "-fits.csv", fits.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, projected gradients and not: N, 1 if projected, squared distance of V, of A, |w|^2.
height = 2.7
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale xy
  set format y '10^{%T}'
  set xrange [2.4:400]
  set yrange [1e-8:3]
  set xtics (3, 10, 30, 100, 300)
  set xlabel 'tokens N'
  set ylabel 'squared distance of the runs' offset 0+right,0
  set key top right
  plot data index 0 every ::1 using 1:3 with points linetype 1 pointtype 7 pointsize 0.6 title 'of V, projected gradients', \
       data index 1 using 1:3 with points linetype 3 pointtype 9 pointsize 0.7 title 'of V, not projected', \
       data index 1 using 1:4 with points linetype 4 pointtype 13 pointsize 0.7 title 'of A, not projected', \
       0.08/x with lines linetype 7 dashtype 2 linewidth 0.6 title '1/N'
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-starts-order",
                   .title = "Distance of the runs from both initialisations of V against N",
                   .shows = {"scb.starts"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::starts_order_figure
