// The two initialisations of V on the population flow: mu 1', and 11'/N, which is off the
// constraint V mu = mu. Projected steps keep what it lacks; unprojected ones mend it, and leave S_k
// free. N = 3, T = 200, Q = 2.

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::figures::starts_figure {
namespace {

struct Kind {
  const char* name;
  bool uniform, project;
  int colour, dash;
  double width;
};

constexpr std::array<Kind, 4> kinds{{{"V = μ1ᵀ, projected", false, true, 1, 1, 2.4},
                                     {"V = μ1ᵀ, not projected", false, false, 3, 2, 1.2},
                                     {"V = 11ᵀ/N, projected", true, true, 5, 3, 1.2},
                                     {"V = 11ᵀ/N, not projected", true, false, 2, 1, 1.2}}};

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  for (const Kind& kind : kinds) {
    table.block(kind.name);
    Training<double> training = scb::training<double>(request.parameters, request.seed);
    if (kind.uniform)
      training.start.setConstant(1.0 / static_cast<double>(training.bigrams.tokens()));
    training.project = kind.project;
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
      table.add("t", run.t[i], "dist_P", dist_P[i], "dist_Q", dist_Q[i], "loss", loss[i], "S_mean",
                mass[i]);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto panel = [](const std::string& column, const Axis& y) {
    Panel made{.x = {.range = "0:400", .own_range = "0:*"}, .y = y, .curves = {}};
    for (const Kind& kind : kinds) {
      made.curves.push_back(plot::line("t", column)
                                .of(kind.name)
                                .colour(kind.colour)
                                .dashed(kind.dash)
                                .wide(kind.width)
                                .titled(kind.name));
    }
    return made;
  };
  Panel values =
      panel("dist_P",
            {.label = "‖V − P‖_μ", .range = "0.005:20", .logarithmic = true, .own_range = "*:*"});
  values.key = "top right";
  const Panel attention = panel(
      "dist_Q", {.label = "‖A − Q‖_μ", .range = "0.1:1", .logarithmic = true, .own_range = "*:*"});
  Panel mass =
      panel("S_mean",
            {.label = "mean of Σ_t a_t", .range = "0.8:1.05", .tics = "0.05", .own_range = "*:*"});
  mass.x.label = "t";
  return {.height = 4.2, .panels = {values, attention, mass}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-starts",
                   .title = "Both initialisations of `V`, with and without projection",
                   .shows = {"scb.reduction", "scb.starts"},
                   .parameters = data_law("3", "200", "2")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::starts_figure
