// Attention A and values V after the three-part algorithm on sampled sequences, next to Q and P.
// N = 6, T = 30, Q = 3, B = 256.

#include <fmt/format.h>

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/checks/examples.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::figures::heat_maps_figure {
namespace {

constexpr std::array<const char*, 4> maps{"ground truth Q", "attention A after training",
                                          "ground truth P", "values V after training"};

void add_block(FigureTable& table, const char* name, const Matrix<double>& matrix) {
  table.block(name);
  for (Index k = 0; k < matrix.cols(); ++k) {
    for (Index i = 0; i < matrix.rows(); ++i) {
      table.add("row", i, "column", k, "value", matrix(i, k));
    }
  }
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
  const Bigrams<double>& b = training.bigrams;
  const Index n = b.tokens();
  Schedule schedule;
  schedule.l1_step = 0.01;
  schedule.l1_weight = 0.001;
  schedule.l1_steps = 12'000;
  const AnyRung<double> rung = forget_type(ThreePartDescent(training, schedule));
  WalkRequest walk_request;
  walk_request.step_size = 0.05;
  walk_request.steps = 20'000;
  walk_request.save_steps = {walk_request.steps};
  walk_request.batch = 256;
  walk_request.seed = request.seed;
  const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
  require_usable(run.outcome, request.name);
  const Vector<double>& x = run.last_state;
  FigureTable table;
  add_block(table, maps[0], checks::dense_law(b));
  add_block(table, maps[1], Eigen::Map<const Matrix<double>>(x.data() + n * n, b.context, n));
  add_block(table, maps[2], b.transition);
  add_block(table, maps[3], Eigen::Map<const Matrix<double>>(x.data(), n, n));
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 2.8, .columns = 2, .left = 0.12, .right = 0.88, .between = 0.08};
  for (const std::string map : maps) {
    const std::size_t number = made.panels.size();
    made.panels.push_back(
        {.title = map,
         .x = {.label = number < 2 ? "position t" : "next token",
               .range = "*:*",
               .own_range = "*:*"},
         .y = {.label = number % 2 == 0 ? "token k" : "",
               .range = "*:*",
               .own_range = "*:*",
               .label_offset = -0.6},
         .curves = {plot::image("row", "column", "value").of(map)},
         .colours = {.range = number < 2 ? "0:0.8" : "0:0.4",
                     .tics = number < 2 ? "0.4" : "0.2",
                     .bar = number % 2 == 1},
         .settings = {
             {fmt::format("stats name.'.csv' index '{}' skip 1 using 1:2 nooutput", map), ""},
             {"set xtics ceil((STATS_max_x + 1)/6)", ""},
             {"set ytics ceil((STATS_max_y + 1)/10)", ""}}});
  }
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-maps",
                   .title = "Attention and values after training on sequences, next to `Q` and `P`",
                   .shows = {"scb.convergence"},
                   .parameters = data_law("6", "30", "3")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::heat_maps_figure
