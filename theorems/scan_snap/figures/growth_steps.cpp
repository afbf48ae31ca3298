// B_n of Theorem 4 step by step, K = 10, M = 1000, eta_Z = 0.5, eta_Y = 1: as printed, by Eqn 13 from
// 0, by Eqn 10 as printed, and on the flow; the three quotients, and what they begin with.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scan_snap/checks/examples.hpp"
#include "theorems/scan_snap/checks/growth_of_rungs.hpp"
#include "theorems/scan_snap/figures/growth_setting.hpp"

namespace popgrad::theorems::scan_snap::figures::growth_steps_figure {
namespace {

using namespace theorems::scan_snap;

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

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-steps",
                   .title = "Theorem 4 step by step: Eqn 14, Eqn 13, Eqn 10 and the flow",
                   .shows = {"scan-snap.growth-steps", "scan-snap.phase-transition"},
                   .parameters = growth_parameters()},
          .data = data};
}

}  // namespace popgrad::theorems::scan_snap::figures::growth_steps_figure
