// Attention by kind of pair over training with Adam on sampled documents, squared loss and cross
// entropy; 1 is uniform. T = 10, tau = 4, v = 10, 5 seeds.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::theorems::topic::figures::attention_by_kind_figure {
namespace {

using namespace popgrad::topic;

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"step",        "same_word",   "deviation",  "same_topic",
              "deviation_2", "other_topic", "deviation_3"};
  for (const LossKind loss : {LossKind::squared, LossKind::cross_entropy}) {
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
      csv.number(static_cast<double>(walk_request.save_steps[i]));
      for (const Band* one : {&own, &same, &other}) {
        csv.number(one->mean[i]).number(one->deviation[i]);
      }
      csv.end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-attention",
                   .title = "Attention by kind of pair over training, for both losses",
                   .shows = {"topic.same-topic-attention"},
                   .parameters = document_law("10", "4", "10")},
          .data = data};
}

}  // namespace popgrad::theorems::topic::figures::attention_by_kind_figure
