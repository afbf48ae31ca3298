// Theorem 2: with linear phi the component of the largest |Delta| leaves every bound at a finite
// time, the others stop at limits that the erf ratio predicts.

#include <fmt/format.h>

#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>

#include "popgrad/base/failure.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::figures::component_growth_figure {
namespace {

constexpr std::array deltas{1.0, 0.9, 0.7, 0.4, -0.6};

std::vector<FigureFile> data(const FigureRequest& request) {
  ReducedInstance<double> instance;
  const auto d = static_cast<Index>(deltas.size());
  instance.target = Eigen::Map<const Vector<double>>(deltas.data(), d);
  instance.start = Matrix<double>::Zero(d, 1);
  instance.logits = Vector<double>::Zero(d);
  const double t_star = blow_up_time(deltas[0], 0.0, instance.tau);

  SolveRequest<double> solve_request;
  solve_request.end = t_star * 1.01;
  // Equally spaced, then ever closer to the blow-up, where v grows as the root of a logarithm.
  for (int i = 0; i < 120; ++i) solve_request.save_at.push_back(t_star * 0.9 * i / 120);
  for (int i = 0; i <= 100; ++i) {
    solve_request.save_at.push_back(t_star * (1 - 0.1 * std::pow(10.0, -0.05 * i)));
  }
  solve_request.relative_tolerance = 1e-10;
  solve_request.absolute_tolerance = 1e-12;
  solve_request.keep_states = true;
  const Trajectory<double> run = solve(forget_type(ReducedFlow<double>(instance)), solve_request);
  require_usable(run.outcome, request.name);
  double located = std::numeric_limits<double>::quiet_NaN();
  for (const Event<double>& event : run.events) {
    if (event.name == "blow-up") located = event.t;
  }
  if (std::isnan(located)) throw Failure("figure joma-component-growth: no blow-up");

  FigureTable table;
  for (std::size_t i = 0; i < run.states.size(); ++i) {
    std::vector<Cell> row{{"t", run.t[i]}};
    for (Index l = 0; l < d; ++l) row.emplace_back(fmt::format("v_{}", l), run.states[i][l]);
    table.add(row);
  }
  // erf(v/sqrt tau)/Delta is the same for all components, and 1/|Delta*| at the end.
  FigureTable ends;
  for (const double delta : deltas) {
    const double share = delta / deltas[0];
    ends.add("delta", delta, "end",
             std::fabs(share) < 1 ? std::sqrt(instance.tau) * boost::math::erf_inv(share)
                                  : std::numeric_limits<double>::quiet_NaN(),
             "t_star", t_star, "located", located);
  }
  return {table.file(request), ends.file(request, "ends")};
}

Picture picture() {
  Panel panel{.x = {.label = "time t = learning rate × steps", .range = "0:t_star*1.04"},
              .y = {.label = "component v_l", .range = "-1.1:4"},
              .guides = {{.x = "t_star", .text = "t* = √(π/2) / max|Δ|"}, {.y = "0"}}};
  for (std::size_t l = 0; l < deltas.size(); ++l) {
    panel.curves.push_back(plot::line("t", fmt::format("v_{}", l)).colour(static_cast<int>(l) + 1));
  }
  panel.curves.push_back(Curve("vectors nohead", {"(0.55*t_star)", "end", "(0.49*t_star)", "(0)"})
                             .in("ends")
                             .coloured("grey")
                             .wide(0.7)
                             .dashed());
  // Where the first component ends is above the panel.
  panel.curves.push_back(
      plot::texts("(t_star*1.04)", "($0 == 0 ? 3.8 : [end])", "sprintf('Δ = %.1f', [delta])")
          .in("ends")
          .looking("left offset 0.6,0"));
  return {.height = 2.3,
          .left = 0.11,
          .right = 0.83,
          .values = {{.name = "t_star", .part = "ends", .column = "t_star"}},
          .panels = {panel}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "joma-component-growth",
           .title =
               "Theorem 2, linear `phi`: one component blows up, the others stop where predicted",
           .shows = {"joma.linear-growth"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::joma::figures::component_growth_figure
