// On documents of a file (10 topics of 10 words): attention between words after training, and how
// often they occur together, over chance. Adam, cross entropy, 1500 steps.

#include <array>
#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/matrix_block.hpp"
#include "theorems/topic/rungs/corpus_audit.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::corpus_attention_figure {
namespace {

constexpr std::array<const char*, 2> labels{"logits of attention", "ln of co-occurrence"};

std::vector<FigureFile> data(const FigureRequest& request) {
  if (request.data_file.empty()) {
    reject("popgrad figure", "--data", "",
           "is missing: give documents, a line of words 0 to 99 each");
  }
  Training training;
  training.law = {10, 4, 10, 0.15, 0.1, 0.1};
  training.loss = LossKind::cross_entropy;
  training.key_width = 20;
  training.corpus = read_documents(request.data_file, 100);
  training.seed = request.seed;
  const Layout layout(training);
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  WalkRequest walk_request;
  walk_request.step_size = 0.01;
  walk_request.optimiser.rule = Optimiser::Rule::adam;
  walk_request.steps = 1500;
  walk_request.save_steps = {walk_request.steps};
  walk_request.batch = 16;
  walk_request.seed = request.seed;
  const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
  require_usable(run.outcome, request.name);
  Matrix<double> attention = effective(layout, run.last_state).logits.bottomRightCorner(100, 100);
  // Less the mean over keys of a query, which the softmax cannot see, and less what all queries
  // give a key.
  attention.rowwise() -= attention.colwise().mean().eval();
  attention.colwise() -= attention.rowwise().mean().eval();
  FigureTable table;
  add_matrix(table, labels[0], attention, "query", "key");
  add_matrix(table, labels[1], pointwise_information(training.corpus, 100), "query", "key");
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 1.6, .columns = 2, .left = 0.11, .right = 0.9, .between = 0.18};
  for (const char* label : labels) {
    made.panels.push_back({.title = label,
                           .x = {.label = "query", .range = "-0.5:99.5", .tics = "20"},
                           .y = {.range = "99.5:-0.5", .tics = "20"},
                           .curves = {plot::image("query", "key", "value").of(label)},
                           .colours = {.diverging = true},
                           .settings = {{"set size square", "set size nosquare"}}});
  }
  made.panels.front().y.label = "key";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-corpus",
                   .title = "Attention trained on documents of a file, next to co-occurrence",
                   .needs_data = true,
                   .shows = {"topic.same-topic-attention"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::corpus_attention_figure
