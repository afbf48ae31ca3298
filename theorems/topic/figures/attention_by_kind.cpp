// Attention by kind of pair over training with Adam on sampled documents, squared loss and cross
// entropy; 1 is uniform. T = 10, tau = 4, v = 10, 5 seeds.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::attention_by_kind_figure {
namespace {

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

constexpr const char* script =
    R"gp(# Blocks of .csv, squared loss, cross entropy: step, attention over uniform on the same word, other
# words of the topic, other topics: mean and deviation over runs.
height = 3.6
data = name.'.csv'
array titles[2] = ['squared loss', 'cross entropy']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.96,0.10,0.95 spacing 0,0.09
  set logscale y
  eval y_range('0.1:300', '*:*')
  set xrange [0:1500]
  set key top left
  set ylabel 'attention, uniform = 1' offset 0+right,0
  do for [i=0:1] {
    set title titles[i+1]
    if (i == 1) { set xlabel 'step of Adam' }
    plot data index i every ::(i==0) using 1:($2-$3):($2+$3) with filledcurves fillcolor rgb blue fillstyle transparent solid 0.2 noborder notitle, \
         data index i every ::(i==0) using 1:($4-$5):($4+$5) with filledcurves fillcolor rgb red fillstyle transparent solid 0.2 noborder notitle, \
         data index i every ::(i==0) using 1:2 with lines linetype 1 title (i == 0 ? 'same word' : ''), \
         data index i every ::(i==0) using 1:4 with lines linetype 2 title (i == 0 ? 'other words of the topic' : ''), \
         data index i every ::(i==0) using 1:6 with lines linetype 3 title (i == 0 ? 'words of other topics' : '')
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-attention",
                   .title = "Attention by kind of pair over training, for both losses",
                   .shows = {"topic.same-topic-attention"},
                   .parameters = document_law("10", "4", "10")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::attention_by_kind_figure
