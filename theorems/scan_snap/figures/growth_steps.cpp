// B_n of Theorem 4 step by step, K = 10, M = 1000, eta_Z = 0.5, eta_Y = 1: as printed, by Eqn 13 from
// 0, by Eqn 10 as printed, and on the flow; the three quotients, and what they begin with.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scan_snap/checks/examples.hpp"
#include "theorems/scan_snap/checks/growth_of_rungs.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"

namespace popgrad::scan_snap::figures::growth_steps_figure {
namespace {

using namespace scan_snap::checks;

std::vector<FigureFile> data(const FigureRequest& request) {
  const auto [tokens, attention_rate] = growth_setting(request);
  TrainingInstance<double> training;
  training.classes = growth_classes<double>();
  training.classes.tokens = tokens;
  training.attention_rate = attention_rate;
  const OneCommonToken instance = described(std::move(training));
  const CommonToken<double> token = instance.token();
  std::vector<double> times;
  for (int i = 0; i <= 100; ++i) times.push_back(std::pow(10.0, 4.0 * i / 100));
  const Growths found = growths(instance, times);
  CsvText csv{"t",      "B_printed",      "B_eqn_13",      "B_eqn_10",
              "B_flow", "printed/eqn_13", "eqn_13/eqn_10", "eqn_10/flow"};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double printed = growth_exponent_of_paper(token, accumulated_at(token, times[i]));
    const double conditional = growth_from_eqn_13(token, times[i]);
    const double reduced = found.reduced[i].value();
    const double flow = found.flow[i].value();
    csv.number(times[i]).number(printed).number(conditional).number(reduced).number(flow);
    csv.number(printed / conditional)
        .number(conditional / reduced)
        .number(reduced / flow)
        .end_row();
  }
  const EarlyQuotients early = early_quotients(token);
  CsvText marks{"t0", "eqn_13/eqn_10", "eqn_10/flow"};
  marks.number(transition_time_of(instance))
      .number(early.to_reduced)
      .number(early.to_flow)
      .end_row();
  return {{request.name + ".csv", csv.text()}, {request.name + "-marks.csv", marks.text()}};
}

constexpr const char* script =
    R"gp(# .csv: t, B_n as printed, by Eqn 13 from 0, by Eqn 10, on the flow, and the quotients of neighbours.
# -marks.csv: t0, the second and third quotient as t -> 0.
height = 4.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.97,0.09,0.955 spacing 0,0.13
  set logscale xy
  set format xy '10^{%T}'
  set xlabel 't'
  eval x_range('1:1e4', '1:1e4')
  eval y_range('1e-7:1e5', '*:*')
  set title '(a) exponent B_n'
  set ylabel 'B_n' offset 0.5+right,0
  set key top left reverse Left
  plot name.'.csv' every ::1 using 1:2 with lines linetype 7 dashtype 2 title 'Eqn 14 as printed', \
       name.'.csv' every ::1 using 1:3 with lines linetype 1 title 'Eqn 13, from 0', \
       name.'.csv' every ::1 using 1:4 with lines linetype 3 title 'Eqn 10', \
       name.'.csv' every ::1 using 1:5 with lines linetype 2 title 'flow'
  set title '(b) too large by a factor, dotted: as t → 0'
  set ylabel 'quotient' offset 0.5+right,0
  eval y_range('0.7:3e4', '*:*')
  set key top right noreverse Right
  plot name.'.csv' every ::1 using 1:6 with lines linetype 7 dashtype 2 title 'Eqn 14/Eqn 13', \
       name.'.csv' every ::1 using 1:7 with lines linetype 1 title 'Eqn 13/Eqn 10', \
       name.'.csv' every ::1 using 1:8 with lines linetype 2 title 'Eqn 10/flow', \
       name.'-marks.csv' every ::1 using (1):2:(9999):(0) with vectors nohead linetype 1 dashtype 3 notitle, \
       name.'-marks.csv' every ::1 using (1):3:(9999):(0) with vectors nohead linetype 2 dashtype 3 notitle
  unset logscale
  unset title
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-steps",
                   .title = "Theorem 4 step by step: Eqn 14, Eqn 13, Eqn 10 and the flow",
                   .shows = {"scan-snap.growth-steps", "scan-snap.phase-transition"},
                   .parameters = growth_parameters()},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::growth_steps_figure
