// Attention by kind of pair over training with Adam on sampled documents, squared loss and cross
// entropy; 1 is uniform. T = 10, tau = 4, v = 10, 5 seeds.

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::attention_by_kind_figure {
namespace {

constexpr std::array<const char*, 2> labels{"squared loss", "cross entropy"};

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
    table.block(labels[loss == LossKind::squared ? 0 : 1]);
    Training training;
    training.law = topic_law<double>(request.parameters);
    training.loss = loss;
    training.key_width = 20;
    training.seed = request.seed;
    const AnyRung<double> rung = forget_type(PopulationFlow(training));
    WalkRequest walk_request;
    walk_request.step_size = 0.01;
    walk_request.optimiser.rule = Optimiser::Rule::adam;
    walk_request.steps = 1500;
    walk_request.save_steps = evenly_spread_steps(walk_request.steps, 26);
    walk_request.batch = 16;
    walk_request.runs = 5;
    walk_request.seed = request.seed;
    walk_request.jobs = request.jobs;
    const auto runs = walk(rung, rung.initial, walk_request);
    const Band own = band(runs, "attention_same_word");
    const Band same = band(runs, "attention_same_topic");
    const Band other = band(runs, "attention_other_topic");
    for (std::size_t i = 0; i < own.mean.size(); ++i) {
      table.add("step", walk_request.save_steps[i], "same_word", own.mean[i], "deviation",
                own.deviation[i], "same_topic", same.mean[i], "deviation_2", same.deviation[i],
                "other_topic", other.mean[i], "deviation_3", other.deviation[i]);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 3.6, .left = 0.17, .right = 0.96};
  for (const char* label : labels) {
    const auto curve = [&](const char* column, int colour) {
      return plot::line("step", column).of(label).colour(colour);
    };
    made.panels.push_back(
        {.title = label,
         .x = {.range = "0:1500"},
         .y = {.label = "attention, uniform = 1",
               .range = "0.1:300",
               .logarithmic = true,
               .format = "%g",
               .own_range = "*:*",
               .label_offset = 0},
         .curves = {plot::band("step", "[same_word]-[deviation]", "[same_word]+[deviation]")
                        .of(label)
                        .colour(1),
                    plot::band("step", "[same_topic]-[deviation_2]", "[same_topic]+[deviation_2]")
                        .of(label)
                        .colour(2),
                    curve("same_word", 1).titled("same word"),
                    curve("same_topic", 2).titled("other words of the topic"),
                    curve("other_topic", 3).titled("words of other topics")}});
  }
  made.panels.front().key = "top left";
  made.panels.back().x.label = "step of Adam";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-attention",
                   .title = "Attention by kind of pair over training, for both losses",
                   .shows = {"topic.same-topic-attention"},
                   .parameters = document_law("10", "4", "10")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::attention_by_kind_figure
