// Block patterns on the words: W_V after stage 1 and after stage 3 of the flow, and W_E' W_E of
// embeddings trained under uniform attention. T = 5, tau = 2, v = 4.

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/figures/matrix_block.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::block_patterns_figure {
namespace {

Trajectory<double> solved(const AnyRung<double>& rung, const std::vector<double>& times,
                          const FigureRequest& request) {
  SolveRequest<double> solve_request;
  solve_request.end = times.back();
  solve_request.save_at = times;
  solve_request.relative_tolerance = 1e-8;
  solve_request.absolute_tolerance = 1e-10;
  solve_request.find_events = false;
  solve_request.keep_states = true;
  Trajectory<double> run = solve(rung, solve_request);
  require_usable(run.outcome, request.name);
  return run;
}

constexpr std::array<const char*, 3> labels{"W_V after stage 1", "W_V at the end", "W_E^T W_E"};

std::vector<FigureFile> data(const FigureRequest& request) {
  Training training;
  training.law = topic_law<double>(request.parameters);
  training.key_width = training.law.vocabulary();
  training.scale = 0.05;
  training.seed = request.seed;
  const Index words = training.law.topics * training.law.words;
  FigureTable table;
  {
    const PopulationFlow flow(training);
    const auto run = solved(forget_type(PopulationFlow(flow)), {1000, 400'000}, request);
    for (const std::size_t i : {0U, 1U}) {
      add_matrix(table, labels[i],
                 effective(flow.layout(), run.states[i]).value.bottomRightCorner(words, words));
    }
  }
  Training embedded = training;
  embedded.embedding_width = 10;
  embedded.start = ValueStart::identity;
  embedded.train_value = embedded.train_attention = false;
  embedded.scale = 0.1;
  const PopulationFlow flow(embedded);
  AnyRung<double> rung = forget_type(PopulationFlow(flow));
  rung.initial.head(flow.layout().values()).setZero();  // uniform attention
  const auto run = solved(rung, {3000}, request);
  const ConstView e(run.last_state.data() + flow.layout().embedding(), flow.layout().width,
                    flow.layout().vocabulary);
  add_matrix(table, labels[2], Matrix<double>(e.transpose() * e).bottomRightCorner(words, words));
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 1.25, .columns = 3, .left = 0.09, .right = 0.9, .between = 0.13};
  for (const char* label : labels) {
    made.panels.push_back({.title = label,
                           .x = {.label = "word", .range = "0:T*v", .tics = "v+0", .format = " "},
                           .y = {.label = made.panels.empty() ? "word" : "",
                                 .range = "T*v:0",
                                 .tics = "v+0",
                                 .format = " "},
                           .curves = {plot::image("[column]+0.5", "[row]+0.5", "value").of(label)},
                           .colours = {.diverging = true},
                           .settings = {{"set size square", "set size nosquare"}}});
  }
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-blocks",
                   .title = "Block patterns of `W_V` and of the embeddings' inner products",
                   .shows = {"topic.value", "topic.embedding"},
                   .parameters = document_law("5", "2", "4")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::block_patterns_figure
