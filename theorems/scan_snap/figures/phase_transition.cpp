// B_n of one common token: closed form, reduced flow and population flow, four decoder rates, with
// t0 marked; K = 10, M = 1000, eta_Z = 0.5.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"
#include "theorems/scan_snap/rungs/closed_form.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::theorems::scan_snap::figures::phase_transition_figure {
namespace {

using namespace popgrad::scan_snap;

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

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-transition",
                   .title = "B_n of one common token with its transition times t0",
                   .in_report = true,
                   .shows = {"scan-snap.phase-transition"},
                   .parameters = growth_parameters()},
          .data = data};
}

}  // namespace popgrad::theorems::scan_snap::figures::phase_transition_figure
