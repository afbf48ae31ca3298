// Growth factor chi of the leading distinct token on the growth instance, reduced flow and flow,
// with the transition times of four decoder rates.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::figures::growth_factor_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  const auto [tokens, attention_rate] = growth_setting(request);
  CsvText csv{"t", "chi_minus_1_reduced", "chi_minus_1_flow"};
  CsvText marks{"eta_Y", "t0", "chi_minus_1_reduced"};
  for (const double rate : {0.5, 1.0, 2.0, 5.0}) {
    TrainingInstance<double> instance;
    instance.classes = growth_classes<double>();
    instance.decoder_rate = rate;
    instance.classes.tokens = tokens;
    instance.attention_rate = attention_rate;
    const double t0 = transition_time(static_cast<double>(tokens), rate, 10);
    SolveRequest<double> solve_request;
    solve_request.end = 700;
    for (int i = 0; i <= 140; ++i) {
      const double t = 5.0 * i;
      if (!solve_request.save_at.empty() && solve_request.save_at.back() < t0 && t0 < t) {
        solve_request.save_at.push_back(t0);
      }
      solve_request.save_at.push_back(t);
    }
    solve_request.relative_tolerance = 1e-9;
    solve_request.absolute_tolerance = 1e-13;
    solve_request.keep_states = true;
    solve_request.find_events = false;
    const ReducedFlow<double> reduced(instance);
    const PopulationFlow<double> flow(instance);
    const Trajectory<double> a = solve(forget_type(reduced), solve_request);
    const Trajectory<double> b = solve(forget_type(flow), solve_request);
    require_usable(a.outcome, request.name);
    require_usable(b.outcome, request.name);
    constexpr Index leading = 99;  // weight 1 among the distinct tokens of class 0
    for (std::size_t i = 0; i < a.t.size(); ++i) {
      const auto growth = [&](double z) { return std::expm1(2 * z); };
      const double on_reduced = growth(reduced.logits_at(a.states[i])[leading]);
      csv.number(a.t[i]).number(on_reduced).number(growth(flow.logits_at(b.states[i])[leading]));
      csv.end_row();
      if (a.t[i] == t0) marks.number(rate).number(t0).number(on_reduced).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}, {request.name + "-marks.csv", marks.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, a decoder rate each (0.5, 1, 2, 5): t, chi - 1 on reduced, chi - 1 on flow.
# -marks.csv: eta_Y, t0, chi - 1 on reduced there.
height = 2.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.15
  set tmargin at screen 0.97
  set xrange [0:700]
  set logscale y
  eval y_range('1e-7:1e-2', '1e-9<*:*')
  set format y '10^{%T}'
  set xlabel 'time t (steps of batch 1)'
  set ylabel 'growth χ − 1' offset 0+right,0
  set key bottom right samplen 1.5 width -1
  plot for [b=0:3] name.'.csv' index b every ::1 using 1:2 with lines linetype b+1 \
         title 'η_Y = '.word('0.5 1 2 5', b+1), \
       for [b=0:3] name.'.csv' index b every ::1 using 1:3 with lines linetype b+1 dashtype 2 \
         notitle, \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 1 title 'reduced', \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 2 title 'flow', \
       name.'-marks.csv' every ::1 using 2:3 with points pointtype 7 pointsize 0.7 linecolor rgb black \
         title 'transition t_0'
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-growth",
                   .title = "Growth factor of the leading distinct token, with transition times",
                   .in_report = true,
                   .shows = {"scan-snap.growth"},
                   .parameters = growth_parameters()},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::growth_factor_figure
