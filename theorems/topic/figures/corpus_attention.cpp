// On documents of a file (10 topics of 10 words): attention between words after training, and how
// often they occur together, over chance. Adam, cross entropy, 1500 steps.

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
  CsvText csv{"query", "key", "value"};
  add_matrix(csv, attention);
  add_matrix(csv, pointwise_information(training.corpus, 100));
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: centred logits of attention, pointwise information of co-occurrence: query, key,
# value.
height = 1.75
data = name.'.csv'
array titles[2] = ['logits of attention', 'ln of co-occurrence']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 1,2 margins 0.11,0.90,0.20,0.90 spacing 0.18,0
  unset key
  set palette defined (-1 red, 0 '#ffffff', 1 blue)
  set size square
  set xtics 20
  set ytics 20
  set xlabel 'query'
  do for [i=0:1] {
    set title titles[i+1]
    if (i == 0) { set ylabel 'key' offset 1+right,0 }
    set autoscale xy
    stats data index i every ::(i==0) using 3 nooutput
    top = abs(STATS_max) > abs(STATS_min) ? abs(STATS_max) : abs(STATS_min)
    set cbrange [-top:top]
    set cbtics (sprintf('%.1f', -top) -top, '0' 0, sprintf('%.1f', top) top) scale 0.3 offset -0.6,0
    set xrange [-0.5:99.5]
    set yrange [99.5:-0.5]
    plot data index i every ::(i==0) using 1:2:3 with image
    unset ylabel
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-corpus",
                   .title = "Attention trained on documents of a file, beside co-occurrence",
                   .needs_data = true,
                   .shows = {"topic.same-topic-attention"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::corpus_attention_figure
