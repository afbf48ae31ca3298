// B_n of Theorem 4 step by step, K = 10, M = 1000, eta_Z = 0.5, eta_Y = 1: as printed, by Eqn 13
// from 0, by Eqn 10 as printed, and on the flow; the three quotients, and what they begin with.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scan_snap/checks/examples.hpp"
#include "theorems/scan_snap/checks/growth_of_rungs.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"

namespace popgrad::scan_snap::figures::growth_steps_figure {
namespace {

using namespace scan_snap::checks;

std::vector<FigureFile> data(const FigureRequest& request) {
  const OneCommonToken instance = described(growth_instance(request));
  const CommonToken<double> token = instance.token();
  std::vector<double> times;
  for (int i = 0; i <= 100; ++i) times.push_back(std::pow(10.0, 4.0 * i / 100));
  const Growths found = growths(instance, times);
  FigureTable table, marks;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double printed = growth_exponent_of_paper(token, accumulated_at(token, times[i]));
    const double conditional = growth_from_eqn_13(token, times[i]);
    const double reduced = found.reduced[i].value();
    const double flow = found.flow[i].value();
    table.add("t", times[i], "B_printed", printed, "B_eqn_13", conditional, "B_eqn_10", reduced,
              "B_flow", flow, "printed/eqn_13", printed / conditional, "eqn_13/eqn_10",
              conditional / reduced, "eqn_10/flow", reduced / flow);
  }
  const EarlyQuotients early = early_quotients(token);
  marks.add("t0", transition_time_of(instance), "eqn_13/eqn_10", early.to_reduced, "eqn_10/flow",
            early.to_flow);
  return {table.file(request), marks.file(request, "marks")};
}

Picture picture() {
  const Axis time{.label = "t", .range = "1:1e4", .logarithmic = true};
  const Panel exponent{
      .title = "(a) exponent B_n",
      .x = time,
      .y = {.label = "B_n", .range = "1e-7:1e5", .logarithmic = true, .own_range = "*:*"},
      .key = "top left",
      .curves = {
          plot::line("t", "B_printed").colour(7).dashed().titled("Eqn 14 as printed"),
          plot::line("t", "B_eqn_13").colour(1).titled("Eqn 13, from 0"),
          plot::line("t", "B_eqn_10").colour(3).titled("Eqn 10"),
          plot::line("t", "B_flow").colour(2).titled("flow"),
      }};
  const Panel quotient{
      .title = "(b) too large by a factor, dotted: as t → 0",
      .x = time,
      .y = {.label = "quotient", .range = "0.7:3e4", .logarithmic = true, .own_range = "*:*"},
      .key = "top right",
      .curves = {
          plot::line("t", "printed/eqn_13").colour(7).dashed().titled("Eqn 14/Eqn 13"),
          plot::line("t", "eqn_13/eqn_10").colour(1).titled("Eqn 13/Eqn 10"),
          plot::line("t", "eqn_10/flow").colour(2).titled("Eqn 10/flow"),
          plot::formula("early_eqn_10").colour(1).dashed(3),
          plot::formula("early_flow").colour(2).dashed(3),
      }};
  return {.height = 4.4,
          .values = {{"early_eqn_10", "marks", "", "eqn_13/eqn_10"},
                     {"early_flow", "marks", "", "eqn_10/flow"}},
          .panels = {exponent, quotient}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-steps",
                   .title = "Theorem 4 step by step: Eqn 14, Eqn 13, Eqn 10 and the flow",
                   .shows = {"scan-snap.growth-steps", "scan-snap.phase-transition"},
                   .parameters = growth_parameters()},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::growth_steps_figure
