// Critical batch size of boosting against T: from scratch with constant and multiplicative noise
// (75 %), from transfer (75 %), and SGD on sequences where it can follow.
// N = 3, Q = 2, eta = 0.05.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::figures::critical_batch_figure {
namespace {

enum class Curve { constant, multiplicative, transfer, sequences };

void add_curve(CsvText& csv, Curve curve, const FigureRequest& request) {
  CrossingRequest crossing;
  crossing.level = 0.75;
  crossing.runs = 60;
  crossing.first = 100;
  crossing.largest = 1e18;
  const double decades = curve == Curve::sequences ? 3 : 9;
  for (double power = 2; power <= decades; power += curve == Curve::sequences ? 0.5 : 1) {
    const auto context = static_cast<Index>(std::llround(std::pow(10.0, power)));
    Parameters at_context = request.parameters;
    at_context.set("T", std::to_string(context));
    Training<double> training = scb::training<double>(at_context, request.seed);
    AttemptSetting setting;
    setting.seed = request.seed;
    setting.jobs = request.jobs;
    if (curve == Curve::transfer) {
      training.start = transfer_start(training.bigrams, 0.5, 0.5, request.seed);
    }
    if (curve == Curve::sequences) setting.sampling = Sampling::sequences;
    setting.levels = noise_at_solution(training.bigrams);
    if (curve == Curve::constant) setting.levels.shape = NoiseShape::constant;
    const Crossing found = find_crossing(success_counter(training, setting), crossing);
    if (!found.found) continue;
    csv.number(static_cast<double>(context)).number(found.size).number(found.low);
    csv.number(found.high).end_row();
    crossing.first = found.size;
  }
  csv.end_block();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"T", "B", "low", "high"};
  for (const Curve curve :
       {Curve::constant, Curve::multiplicative, Curve::transfer, Curve::sequences}) {
    add_curve(csv, curve, request);
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: constant noise, multiplicative noise, transfer, SGD on sequences: T, critical B, its
# 95 % interval.
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
  set format xy '10^{%T}'
  set xrange [50:2e9]
  eval y_range('3:1e18', '*:*')
  set ytics 1000
  set xlabel 'context length T'
  set ylabel 'batch size for 75 % success' offset 0+right,0
  set key top left reverse Left
  plot data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 2 pointtype 5 pointsize 0.5 title 'from scratch, constant noise', \
       data index 1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 title 'from scratch, multiplicative noise', \
       data index 2 using 1:2:3:4 with yerrorlines linetype 3 pointtype 9 pointsize 0.5 title 'from transfer, multiplicative noise', \
       data index 3 using 1:2:3:4 with yerrorbars linetype 7 pointtype 6 pointsize 0.9 title 'from scratch, SGD on sequences', \
       0.01*x**2 with lines linetype 7 dashtype 3 linewidth 0.6 title 'T^2', \
       0.01*x with lines linetype 7 dashtype 2 linewidth 0.6 title 'T'
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-critical",
                   .title = "Critical batch size of boosting against the context length, to 1e9",
                   .shows = {"scb.two-stages", "scb.transfer"},
                   .parameters = {{parameter::N, "3"}, {parameter::Q, "2"}}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::critical_batch_figure
