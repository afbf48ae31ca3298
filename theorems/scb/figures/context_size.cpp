// The role of Q: critical batch of boosting (75 %) and its time without noise against the number of
// positions that a token looks at. N = 3, T = 1000, threshold 0.1/Q; two instances.

#include "popgrad/evidence/figure.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::figures::context_size_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"Q", "B", "low", "high", "steps", "K_Q"};
  for (const Sampling sampling : {Sampling::lumped_noise, Sampling::sequences}) {
    for (Index instance = 0; instance < 2; ++instance) {
      for (Index support = 1; support <= 64; support *= 2) {
        if (sampling == Sampling::sequences && (instance > 0 || support > 16)) continue;
        Parameters at_support = request.parameters;
        at_support.set("Q", std::to_string(support));
        const Training<double> training =
            scb::training<double>(at_support, request.seed + static_cast<std::uint64_t>(instance));
        AttemptSetting setting;
        setting.seed = request.seed;
        setting.jobs = request.jobs;
        setting.sampling = sampling;
        setting.schedule.threshold = 0.1 / static_cast<double>(support);
        setting.levels = noise_at_solution(training.bigrams);
        CrossingRequest crossing;
        crossing.level = 0.75;
        crossing.runs = sampling == Sampling::sequences ? 30 : 40;
        crossing.first = 100;
        const Crossing found = find_crossing(success_counter(training, setting), crossing);
        if (!found.found) continue;
        const auto steps = quiet_boost_steps(training, setting.schedule, setting.step);
        csv.number(static_cast<double>(support)).number(found.size).number(found.low);
        csv.number(found.high).number(static_cast<double>(steps));
        csv.number(context_size(training.bigrams)).end_row();
      }
      if (sampling == Sampling::lumped_noise) csv.end_block();
    }
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: two instances on the lumped law, then one on sequences: Q, critical B, its 95 %
# interval, steps of boosting without noise, K_Q.
height = 3.4
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.96,0.11,0.98 spacing 0,0.06
  set logscale xy
  set xrange [0.8:80]
  set xtics (1, 2, 4, 8, 16, 32, 64)
  set format x ''
  set key top left
  set ylabel 'batch for 75 % success' offset 0+right,0
  plot data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 title 'multiplicative noise, two instances', \
       data index 1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 notitle, \
       data index 2 using 1:2:3:4 with yerrorbars linetype 7 pointtype 6 pointsize 0.9 title 'SGD on sequences'
  set format x '%g'
  set xlabel 'positions a token looks at, Q'
  set ylabel 'steps of boosting' offset 0+right,0
  plot for [i=0:1] data index i every ::(i==0) using 1:5 with linespoints linetype 1 pointtype 7 pointsize 0.5 notitle, \
       data index 0 every ::1 using 1:(column(5) > 0 ? 900*sqrt(1/column(6)) : NaN) with lines linetype 7 dashtype 2 linewidth 0.6 title 'K_Q^{−1/2}'
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-context-size",
                   .title = "The role of Q: critical batch and time of boosting",
                   .shows = {"scb.two-stages"},
                   .parameters = {{parameter::N, "3"}, {parameter::T, "1000"}}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::context_size_figure
