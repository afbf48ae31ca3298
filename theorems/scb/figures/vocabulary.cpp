// The role of N, Q = 2, of the three-part algorithm:
//   sampled sequences  N in {3, 5, 10, 20}, T = 1000, B = 512
//   lumped law         N in {100, 500},     T = 10^5, B = 10^9
// K_P is about 1/(3 N), so lambda goes with it and the clock is K_P t.

#include <fmt/format.h>

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::figures::vocabulary_figure {
namespace {

constexpr std::array<Index, 6> sizes{3, 5, 10, 20, 100, 500};
constexpr bool is_sampled(Index tokens) { return tokens <= 20; }
std::string name_of(Index tokens) {
  return fmt::format("N = {}{}", tokens, is_sampled(tokens) ? "" : ", noise");
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  for (const Index tokens : sizes) {
    table.block(name_of(tokens));
    const bool sampled = is_sampled(tokens);
    const Training<double> training =
        from_scratch(tokens, sampled ? 1000 : 100'000, 2, request.seed);
    const double size = transition_size(training.bigrams);
    Schedule schedule;
    schedule.l1_step = 0.002 / size;
    schedule.l1_weight = 0.04 * size;
    const AnyRung<double> rung =
        sampled
            ? forget_type(ThreePartDescent(training, schedule))
            : forget_type(LumpedThreePart(training, schedule, noise_at_solution(training.bigrams)));
    WalkRequest walk_request;
    // Both parts take one step size, so that steps make one clock.
    walk_request.step_size = schedule.l1_step;
    walk_request.steps = 4'000;
    walk_request.save_steps = evenly_spread_steps(walk_request.steps, 201);
    walk_request.batch = sampled ? 512 : 1'000'000'000;
    walk_request.seed = request.seed;
    const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
    const std::vector<double> dist_P = run.column("dist_P_normalised");
    const std::vector<double> dist_Q = run.column("dist_Q_normalised");
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      table.add("K_P_t", size * run.t[i], "dist_P_normalised", dist_P[i], "dist_Q_normalised",
                dist_Q[i], "N", tokens);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto panel = [](const std::string& column, const Axis& y) {
    Panel made{.x = {.range = "0:8"}, .y = y, .curves = {}};
    for (const Index tokens : sizes) {
      const auto number = static_cast<int>(made.curves.size()) + 1;
      made.curves.push_back(plot::line("K_P_t", column)
                                .of(name_of(tokens))
                                .colour(number < 6 ? number : 7)
                                .dashed(is_sampled(tokens) ? 1 : 2)
                                .titled(name_of(tokens)));
    }
    return made;
  };
  Panel values = panel("dist_P_normalised",
                       {.label = "‖V − P‖_μ, normalised", .range = "1e-4:3", .logarithmic = true});
  values.title = "solid: T = 1000, B = 512; dashed: noise, T = 10^5, B = 10^9";
  values.key = "top right maxrows 3 samplen 1.5";
  Panel attention =
      panel("dist_Q_normalised",
            {.label = "‖A − Q‖_μ, normalised", .range = "0.005:3", .logarithmic = true});
  attention.x.label = "K_P t";
  return {.height = 3.6, .panels = {values, attention}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-vocabulary",
                   .title = "The role of `N`: three parts from 3 tokens to 500",
                   .shows = {"scb.convergence"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::vocabulary_figure
