// h in continuous time, its two regimes, and the discrete h*: M = 1000, eta_Y = 1; the gap h* - h
// at three decoder rates in units of eta_Y/M.

#include "theorems/scan_snap/rungs/decoder.hpp"

#include <cmath>

#include "popgrad/evidence/figure.hpp"

namespace popgrad::scan_snap::figures::decoder_figure {
namespace {

constexpr double vocabulary = 1000;

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"s", "h", "early", "late"};
  for (int i = 0; i <= 200; ++i) {
    const double s = 0.1 * std::pow(1e5, i / 200.0);
    csv.number(s).number(decoder_scale(vocabulary, 1.0, s));
    csv.number(early_decoder_scale(vocabulary, 1.0, s));
    csv.number(late_decoder_scale(vocabulary, 1.0, s)).end_row();
  }
  csv.end_block();
  double h = 0;
  double next = 1;
  for (long s = 1; s <= 10'000; ++s) {
    h += decoder_rate_of(vocabulary, 1.0, h);
    if (static_cast<double>(s) < next) continue;
    next *= 1.35;
    csv.number(static_cast<double>(s)).number(h).number(h).number(h).end_row();
  }
  CsvText gap{"eta_Y_s", "gap"};
  for (const double rate : {0.01, 1.0, 5.0}) {
    double discrete = 0;
    for (long s = 1; static_cast<double>(s) * rate <= 60; ++s) {
      discrete += decoder_rate_of(vocabulary, rate, discrete);
      const double units = static_cast<double>(s) * rate;
      // At the smallest rate a tenth of the points draws the curve.
      if (rate < 0.1 && s % 10 != 0) continue;
      const double continuous = decoder_scale(vocabulary, rate, static_cast<double>(s));
      gap.number(units).number((discrete - continuous) * vocabulary / rate).end_row();
    }
    gap.end_block();
  }
  const double t0 = crossover(vocabulary);
  CsvText marks{"name", "s"};
  marks.word("ln M").number(std::log(vocabulary)).end_row();
  marks.word("t0/K").number(2 * t0).end_row();
  return {{request.name + ".csv", csv.text()},
          {request.name + "-gap.csv", gap.text()},
          {request.name + "-marks.csv", marks.text()}};
}

constexpr const char* script =
    R"gp(# .csv, block 0: s, h, early regime, late regime; block 1: the discrete h* at some s.
# -gap.csv, blocks eta_Y = 0.01, 1, 5: eta_Y s, (h* - h) M/eta_Y. -marks.csv: name, s.
height = 3.3
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.15,0.97,0.11,0.97 spacing 0,0.14
  set logscale x
  set xrange [0.1:1e4]
  set yrange [0:18]
  set format x '10^{%T}'
  set xlabel 'draws of the class s = t/K (η_Y = 1, M = 1000)'
  set ylabel 'M h' offset 0.5+right,0
  set key top left reverse Left
  set arrow 1 from 6.9078,0 to 6.9078,18 nohead dashtype 3 linecolor rgb grey
  set arrow 2 from 18.235,0 to 18.235,18 nohead dashtype 3 linecolor rgb grey
  set label 1 'ln M' at 6.3,16.6 right textcolor rgb grey
  set label 2 't_0/K' at 20,1.2 left textcolor rgb grey
  plot name.'.csv' index 0 every ::1 using 1:($2*1000) with lines linetype 1 title 'h', \
       name.'.csv' index 0 every ::1 using 1:($3*1000) with lines linetype 2 dashtype 2 title 'η_Y s/M', \
       name.'.csv' index 0 every ::1 using 1:($4*1000) with lines linetype 3 dashtype 2 title 'ln(M η_Y s)/M', \
       name.'.csv' index 1 using 1:($2*1000) with points pointtype 6 pointsize 0.6 linecolor rgb black linewidth 0.7 title 'h*, step by step'
  unset logscale x
  unset arrow
  unset label
  set format x '%g'
  set xrange [0:60]
  set yrange [0:0.5]
  set xlabel 'η_Y s'
  set ylabel '(h* − h) M/η_Y' offset 0.5+right,0
  set key top right noreverse Right
  set arrow 3 from 0,0.18394 to 60,0.18394 nohead dashtype 3 linecolor rgb grey
  set label 3 '1/(2e)' at 59,0.205 right textcolor rgb grey
  plot for [b=0:2] name.'-gap.csv' index b using 1:2 with lines linetype b+1 title 'η_Y = '.word('0.01 1 5', b+1)
  unset arrow
  unset label
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-decoder",
                   .title = "The decoder's scale h, its regimes, and the discrete h*",
                   .shows = {"scan-snap.decoder-recursion", "scan-snap.decoder-closed-form"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::decoder_figure
