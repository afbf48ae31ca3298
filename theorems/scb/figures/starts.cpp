// The two initialisations of V on the population flow: mu 1', and 11'/N, which is off the
// constraint V mu = mu. Projected steps keep what it lacks; unprojected ones mend it, and leave S_k
// free. N = 3, T = 200, Q = 2.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::theorems::scb::figures::starts_figure {
namespace {

using namespace popgrad::scb;

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"t", "dist_P", "dist_Q", "loss", "S_mean"};
  for (const bool uniform : {false, true}) {
    for (const bool project : {true, false}) {
      Training<double> training = popgrad::scb::training<double>(request.parameters, request.seed);
      if (uniform) training.start.setConstant(1.0 / static_cast<double>(training.bigrams.tokens()));
      training.project = project;
      SolveRequest<double> solve_request;
      // Transitions are about 1/(3 N) in size, and the time to learn them goes with N.
      solve_request.end = 400 * static_cast<double>(training.bigrams.tokens()) / 3;
      solve_request.save_at = equally_spaced(0.0, solve_request.end, 401);
      solve_request.relative_tolerance = 1e-9;
      solve_request.absolute_tolerance = 1e-12;
      solve_request.find_events = false;
      const auto run = solve(forget_type(PopulationFlow<double>(training)), solve_request);
      require_usable(run.outcome, request.name);
      const std::vector<double> dist_P = run.column("dist_P");
      const std::vector<double> dist_Q = run.column("dist_Q");
      const std::vector<double> loss = run.column("loss");
      const std::vector<double> mass = run.column("S_mean");
      for (std::size_t i = 0; i < run.rows.size(); ++i) {
        csv.number(run.t[i]).number(dist_P[i]).number(dist_Q[i]).number(loss[i]).number(mass[i]);
        csv.end_row();
      }
      csv.end_block();
    }
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-starts",
                   .title = "Both initialisations of V, with and without projection",
                   .shows = {"scb.reduction", "scb.starts"},
                   .parameters = data_law("3", "200", "2")},
          .data = data};
}

}  // namespace popgrad::theorems::scb::figures::starts_figure
