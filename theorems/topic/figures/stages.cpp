// Norms of W_V, W_K, W_Q and the loss over time: the flow and one run of SGD. Three stages: W_V,
// attention, and W_V again. T = 4, tau = 2, v = 3.

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::stages_figure {
namespace {

constexpr const char* of_flow = "flow";
constexpr const char* of_sgd = "one run of SGD";
// The first columns of the rung.
constexpr std::array<const char*, 7> columns{"loss",      "norm_W_V",   "norm_W_K",   "norm_W_Q",
                                             "same_word", "same_topic", "other_topic"};

void add(FigureTable& table, const char* label, const Trajectory<double>& run) {
  table.block(label);
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    std::vector<Cell> row{{"t", run.t[i]}};
    for (std::size_t c = 0; c < columns.size(); ++c) row.emplace_back(columns[c], run.rows[i][c]);
    table.add(row);
  }
}

std::vector<FigureFile> data(const FigureRequest& request) {
  Training training;
  training.law = topic_law<double>(request.parameters);
  training.key_width = training.law.vocabulary();
  training.scale = 0.01;
  training.seed = request.seed;
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  constexpr double end = 300'000;
  SolveRequest<double> solve_request;
  solve_request.end = end;
  for (int i = 0; i <= 240; ++i) {
    solve_request.save_at.push_back(std::min(end, std::pow(10.0, std::log10(end) * i / 240)));
  }
  solve_request.relative_tolerance = 1e-8;
  solve_request.absolute_tolerance = 1e-10;
  solve_request.find_events = false;
  const Trajectory<double> flow = solve(rung, solve_request);
  require_usable(flow.outcome, request.name);
  FigureTable table;
  add(table, of_flow, flow);
  WalkRequest walk_request;
  walk_request.step_size = 2;
  walk_request.steps = 30'000;
  for (int i = 0; i <= 160; ++i) {
    const auto step = static_cast<std::uint64_t>(std::pow(10.0, std::log10(30'000.0) * i / 160));
    auto& saves = walk_request.save_steps;
    if (saves.empty() || saves.back() < step) saves.push_back(step);
  }
  walk_request.batch = 64;
  walk_request.seed = request.seed;
  const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
  require_usable(run.outcome, request.name);
  add(table, of_sgd, run);
  return {table.file(request)};
}

Picture picture() {
  const auto flow = [](const char* column) { return plot::line("t", column).of(of_flow); };
  const auto sgd = [](const char* column, int mark, const char* rows) {
    return plot::points("t", column).of(of_sgd).every(rows).mark(mark, 0.45);
  };
  const Panel norms{
      .x = {.range = "1:3e5", .logarithmic = true},
      .y = {.label = "Frobenius norm", .range = "0:15", .own_range = "0:*"},
      .key = "top left",
      .curves = {flow("norm_W_V").colour(1).titled("W_V"), flow("norm_W_K").colour(2).titled("W_K"),
                 flow("norm_W_Q").colour(3).dashed().titled("W_Q"),
                 sgd("norm_W_V", 6, "4").colour(1), sgd("norm_W_K", 6, "4").colour(2),
                 sgd("norm_W_Q", 4, "4::2").colour(3), plot::legend_line(of_flow).coloured("grey"),
                 plot::legend_points(of_sgd).coloured("grey").mark(6, 0.45)}};
  Panel loss{.x = norms.x,
             .y = {.label = "loss", .range = "0.76:1.01", .own_range = "*:*"},
             .key = "top right",
             .curves = {flow("loss").colour(7).titled(of_flow),
                        sgd("loss", 6, "4").colour(7).titled(of_sgd)}};
  loss.x.label = "t";
  return {.height = 3.6, .panels = {norms, loss}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-stages",
                   .title = "Stages of training: norms and loss of the flow and of SGD",
                   .in_report = true,
                   .shows = {"topic.two-stage"},
                   .parameters = document_law("4", "2", "3")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::stages_figure
