// B_n of one common token: closed form, reduced flow and population flow, four decoder rates, with
// t0 marked; K = 10, M = 1000, eta_Z = 0.5.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"
#include "theorems/scan_snap/rungs/closed_form.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::figures::phase_transition_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  const auto [tokens, attention_rate] = growth_setting(request);
  CsvText csv{"t", "B_closed_form", "B_reduced", "B_paper_from_0"};
  CsvText marks{"eta_Y", "t0", "B_closed_form"};
  for (const double rate : {0.5, 1.0, 2.0, 5.0}) {
    TrainingInstance<double> instance;
    instance.classes = growth_classes<double>();
    instance.decoder_rate = rate;
    instance.classes.tokens = tokens;
    instance.attention_rate = attention_rate;
    instance.track_growth = true;
    const CommonToken<double> token = common_token(instance);
    const auto accumulated = [&](double t) {
      return accumulated_scale(token, decoder_scale(token.vocabulary, rate, t / token.classes));
    };
    const ReducedFlow<double> reduced(instance);
    SolveRequest<double> solve_request;
    solve_request.end = 700;
    solve_request.save_at = equally_spaced(0.0, 700.0, 141);
    solve_request.relative_tolerance = 1e-9;
    solve_request.absolute_tolerance = 1e-13;
    solve_request.keep_states = true;
    solve_request.find_events = false;
    const Trajectory<double> run = solve(forget_type(reduced), solve_request);
    require_usable(run.outcome, request.name);
    for (std::size_t i = 0; i < run.t.size(); ++i) {
      const double gamma = accumulated(run.t[i]);
      csv.number(run.t[i]).number(growth_exponent(token, gamma));
      csv.number(run.states[i][reduced.layout().pairs() + 1]);
      csv.number(growth_exponent_of_paper(token, gamma) - std::log(token.scale_of_paper()) / 4)
          .end_row();
    }
    csv.end_block();
    const double t0 = transition_time(token.vocabulary, rate, token.classes);
    marks.number(rate).number(t0).number(growth_exponent(token, accumulated(t0))).end_row();
  }
  return {{request.name + ".csv", csv.text()}, {request.name + "-marks.csv", marks.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, a decoder rate each (0.5, 1, 2, 5): t, B closed form, B of the reduced flow, the
# printed form less its value at 0. -marks.csv: eta_Y, t0, B closed form there.
height = 3.3
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.15,0.97,0.11,0.97 spacing 0,0.14
  set xrange [0:700]
  set xlabel ''
  eval y_range('0:0.06', '0:*')
  if (own eq '0') { set ytics 0.02 }
  set ylabel 'B_n' offset 0+right,0
  set key top left reverse Left maxrows 3 samplen 1.5 width -2
  plot for [b=0:3] name.'.csv' index b every ::1 using 1:2 with lines linetype b+1 \
         title 'η_Y = '.word('0.5 1 2 5', b+1), \
       for [b=0:3] name.'.csv' index b every 7::1 using 1:3 with points linetype b+1 pointtype 6 \
         pointsize 0.45 linewidth 0.6 title (b == 0 ? 'reduced flow' : ''), \
       name.'-marks.csv' every ::1 using 2:3 with points pointtype 7 pointsize 0.7 linecolor rgb black \
         title 'transition t_0'
  set xlabel 'time t (steps of batch 1)'
  eval y_range('0:0.5', '0:*')
  if (own eq '0') { set ytics 0.1 }
  set key top left reverse Left maxrows 2 samplen 1.5
  plot name.'.csv' index 1 every ::1 using 1:4 with lines linetype 2 dashtype 2 title 'Theorem 4 as printed, less its value at 0', \
       name.'.csv' index 1 every ::1 using 1:2 with lines linetype 2 title 'corrected (η_Y = 1)'
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-transition",
                   .title = "B_n of one common token with its transition times t0",
                   .in_report = true,
                   .shows = {"scan-snap.phase-transition"},
                   .parameters = growth_parameters()},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::phase_transition_figure
