// Phase portrait of the reduced flow with noisy runs over it: the saddle-like start, the hyperbola
// alpha_A alpha_V = 1, both branches. N = 3, T = 200, Q = 2.

#include <fmt/format.h>

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/lumped_descent.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::figures::phase_portrait_figure {
namespace {

constexpr const char* reduced = "reduced flow";
constexpr std::uint32_t noisy_runs = 6;
std::string noisy_run(std::size_t number) { return fmt::format("noisy run {}", number); }

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
  const ReducedFlow<double> flow(training);
  FigureTable field;
  for (int i = 0; i <= 16; ++i) {
    for (int j = 0; j <= 12; ++j) {
      Vector<double> x(3);
      x << -2.4 + 0.3 * i, -1.2 + 0.2 * j, 0;
      Vector<double> dx(3);
      flow.rhs(x, dx, 0.0);
      // One length for all: the direction is what is shown; axes have different scales.
      const double size = std::hypot(dx[0] / 0.3, dx[1] / 0.2);
      field.add("alpha_V", x[0], "alpha_A", x[1], "d_alpha_V", 0.7 * dx[0] / size, "d_alpha_A",
                0.7 * dx[1] / size);
    }
  }
  FigureTable runs;
  const auto add = [&](const std::string& name, const Trajectory<double>& run) {
    runs.block(name);
    const std::vector<double> alpha_V = run.column("alpha_V");
    const std::vector<double> alpha_A = run.column("alpha_A");
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      runs.add("alpha_V", alpha_V[i], "alpha_A", alpha_A[i]);
    }
  };
  // Transitions are about 1/(3 N) in size, and the time to learn them goes with N.
  const double slowness = static_cast<double>(training.bigrams.tokens()) / 3;
  SolveRequest<double> solve_request;
  solve_request.end = 400 * slowness;
  solve_request.save_at = equally_spaced(0.0, solve_request.end, 801);
  solve_request.relative_tolerance = 1e-9;
  solve_request.absolute_tolerance = 1e-12;
  solve_request.find_events = false;
  add(reduced, solve(forget_type(flow), solve_request));
  const AnyRung<double> noisy = forget_type(LumpedDescent(training, [&] {
    NoiseLevels levels = noise_at_solution(training.bigrams);
    levels.shape = NoiseShape::constant;
    return levels;
  }()));
  WalkRequest walk_request;
  walk_request.step_size = 0.02;
  walk_request.steps = static_cast<std::uint64_t>(6000 * slowness);
  walk_request.save_steps = evenly_spread_steps(walk_request.steps, 601);
  walk_request.batch = 64;
  walk_request.runs = noisy_runs;
  walk_request.seed = request.seed;
  const std::vector<Trajectory<double>> walks = walk(noisy, noisy.initial, walk_request);
  for (std::size_t i = 0; i < walks.size(); ++i) add(noisy_run(i), walks[i]);
  return {field.file(request, "field"), runs.file(request)};
}

Picture picture() {
  Panel panel{
      .x = {.label = "α_V", .range = "-2.5:2.5"},
      .y = {.label = "α_A", .range = "-1.3:1.3"},
      .key = "above",
      .curves = {Curve("vectors", {"[alpha_V] - 0.2*[d_alpha_V]", "[alpha_A] - 0.14*[d_alpha_A]",
                                   "0.4*[d_alpha_V]", "0.28*[d_alpha_A]"})
                     .in("field")
                     .looking("head filled size screen 0.008,20 linecolor rgb '#bbbbbb'")
                     .wide(0.5)},
      .settings = {{"set samples 1000", "set samples 100"}}};
  for (std::size_t i = 0; i < noisy_runs; ++i) {
    panel.curves.push_back(plot::line("alpha_V", "alpha_A")
                               .of(noisy_run(i))
                               .colour(2)
                               .wide(0.6)
                               .titled(i == 0 ? "noisy runs" : ""));
  }
  panel.curves.insert(
      panel.curves.end(),
      {plot::line("alpha_V", "alpha_A").of(reduced).colour(1).wide(2).titled(reduced),
       plot::formula("x > 0.5 || x < -0.5 ? 1/x : NaN")
           .colour(7)
           .dashed(3)
           .wide(0.6)
           .titled("α_A α_V = 1"),
       plot::points("(1)", "(1)")
           .of(reduced)
           .every("::0::0")
           .colour(7)
           .mark(7, 0.6)
           .titled("solution")});
  return {.height = 3, .left = 0.13, .legend_rows = 2, .panels = {panel}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-phase",
                   .title = "Reduced flow: phase portrait with noisy runs over it",
                   .in_report = true,
                   .shows = {"scb.reduction", "scb.fixed-points", "scb.branch"},
                   .parameters = data_law("3", "200", "2")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::phase_portrait_figure
