// Block patterns on the words: W_V after stage 1 and after stage 3 of the flow, and W_E' W_E of
// embeddings trained under uniform attention. T = 5, tau = 2, v = 4.

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

std::vector<FigureFile> data(const FigureRequest& request) {
  Training training;
  training.law = topic_law<double>(request.parameters);
  training.key_width = training.law.vocabulary();
  training.scale = 0.05;
  training.seed = request.seed;
  const Index words = training.law.topics * training.law.words;
  CsvText csv{"column", "row", "value"};
  {
    const PopulationFlow flow(training);
    const auto run = solved(forget_type(PopulationFlow(flow)), {1000, 400'000}, request);
    for (const Vector<double>& x : run.states) {
      add_matrix(csv, effective(flow.layout(), x).value.bottomRightCorner(words, words));
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
  add_matrix(csv, Matrix<double>(e.transpose() * e).bottomRightCorner(words, words));
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: W_V after stage 1, after stage 3, inner products of embeddings: column, row, value.
height = 1.2
data = name.'.csv'
array titles[3] = ['W_V after stage 1', 'W_V at the end', 'W_E^T W_E']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 1,3 margins 0.03,0.90,0.08,0.84 spacing 0.09,0
  unset key
  set palette defined (-1 red, 0 '#ffffff', 1 blue)
  set size square
  set xtics v+0
  set ytics v+0
  set format x ''
  set format y ''
  set colorbox
  do for [i=0:2] {
    set title titles[i+1]
    set autoscale xy
    stats data index i every ::(i==0) using 3 nooutput
    top = abs(STATS_max) > abs(STATS_min) ? abs(STATS_max) : abs(STATS_min)
    set cbrange [-top:top]
    set cbtics (sprintf('%.1f', -top) -top, '0' 0, sprintf('%.1f', top) top) scale 0.3 offset -0.6,0
    set xrange [0:T*v]
    set yrange [T*v:0]
    plot data index i every ::(i==0) using ($1+0.5):($2+0.5):3 with image
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-blocks",
                   .title = "Block patterns of W_V and of the embeddings' inner products",
                   .shows = {"topic.value", "topic.embedding"},
                   .parameters = document_law("5", "2", "4")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::block_patterns_figure
