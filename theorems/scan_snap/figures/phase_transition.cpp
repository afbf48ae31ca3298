// B_n of one common token: closed form, reduced flow and population flow, four decoder rates, with
// t0 marked; K = 10, M = 1000, eta_Z = 0.5.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/checks/growth_of_rungs.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"
#include "theorems/scan_snap/rungs/closed_form.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::figures::phase_transition_figure {
namespace {

using namespace scan_snap::checks;

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table, marks;
  for (const double rate : decoder_rates) {
    table.block(name_of(rate));
    TrainingInstance<double> instance = growth_instance(request, rate);
    instance.track_growth = true;
    const CommonToken<double> token = common_token(instance);
    const ReducedFlow<double> reduced(instance);
    const Trajectory<double> run =
        growth_run(forget_type(reduced), equally_spaced(0.0, 700.0, 141), request);
    for (std::size_t i = 0; i < run.t.size(); ++i) {
      const double gamma = accumulated_at(token, run.t[i]);
      table.add("t", run.t[i], "B_closed_form", growth_exponent(token, gamma), "B_reduced",
                run.states[i][reduced.layout().pairs() + 1], "B_eqn_13",
                growth_exponent_of_eqn_13(token, gamma));
    }
    const double t0 = transition_time(token.vocabulary, rate, token.classes);
    marks.add("eta_Y", rate, "t0", t0, "B_closed_form",
              growth_exponent(token, accumulated_at(token, t0)));
  }
  return {table.file(request), marks.file(request, "marks")};
}

Picture picture() {
  const std::vector<std::string> names = labels_of(decoder_rates, name_of);
  Panel corrected{.x = {.range = "0:700"},
                  .y = {.label = "B_n", .range = "0:0.06", .tics = "0.02", .own_range = "0:*"},
                  .key = "top left maxrows 3 samplen 1.5 width -2",
                  .curves = {}};
  corrected.add_each(plot::line("t", "B_closed_form"), names, names);
  corrected.add_each(plot::points("t", "B_reduced").every("7").mark(6, 0.45).wide(0.6), names,
                     {"reduced flow"});
  corrected.curves.push_back(plot::points("t0", "B_closed_form")
                                 .in("marks")
                                 .coloured("black")
                                 .mark(7, 0.7)
                                 .titled("transition t_0"));
  const std::string& one = names[1];
  const Panel printed{
      .x = {.label = "time t (steps of batch 1)", .range = "0:700"},
      .y = {.label = "B_n", .range = "0:0.5", .tics = "0.1", .own_range = "0:*"},
      .key = "top left maxrows 2 samplen 1.5",
      .curves = {
          plot::line("t", "B_eqn_13")
              .of(one)
              .colour(2)
              .dashed()
              .titled("Theorem 4 as printed, less its value at 0"),
          plot::line("t", "B_closed_form").of(one).colour(2).titled("corrected (" + one + ")")}};
  return {.height = 3.3, .left = 0.15, .panels = {corrected, printed}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-transition",
                   .title = "`B_n` of one common token with its transition times `t0`",
                   .in_report = true,
                   .shows = {"scan-snap.phase-transition"},
                   .parameters = growth_parameters()},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::phase_transition_figure
