// Norms of W_V, W_K, W_Q and the loss over time: the flow and one run of SGD. Three stages: W_V,
// attention, and W_V again. T = 4, tau = 2, v = 3.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::stages_figure {
namespace {

void add(CsvText& csv, const Trajectory<double>& run) {
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    csv.number(run.t[i]);
    for (std::size_t c = 0; c < 7; ++c) csv.number(run.rows[i][c]);
    csv.end_row();
  }
  csv.end_block();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  Training training;
  training.law = topic_law<double>(request.parameters);
  training.key_width = training.law.vocabulary();
  training.scale = 0.01;
  training.seed = request.seed;
  CsvText csv{"t",        "loss",      "norm_W_V",   "norm_W_K",
              "norm_W_Q", "same_word", "same_topic", "other_topic"};
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
  add(csv, flow);
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
  add(csv, run);
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: flow, one run of SGD: t, loss, norms of W_V, W_K, W_Q, attention by kind.
height = 3.6
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.96,0.10,0.98 spacing 0,0.05
  set logscale x
  set xrange [1:3e5]
  set format x ''
  set key top left
  set ylabel 'Frobenius norm' offset 0+right,0
  eval y_range('0:15', '0:*')
  plot data index 0 every ::1 using 1:3 with lines linetype 1 title 'W_V', \
       data index 0 every ::1 using 1:4 with lines linetype 2 title 'W_K', \
       data index 0 every ::1 using 1:5 with lines linetype 3 dashtype 2 title 'W_Q', \
       data index 1 every 4 using 1:3 with points linetype 1 pointtype 6 pointsize 0.45 notitle, \
       data index 1 every 4 using 1:4 with points linetype 2 pointtype 6 pointsize 0.45 notitle, \
       data index 1 every 4::2 using 1:5 with points linetype 3 pointtype 4 pointsize 0.45 notitle, \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 1 title 'flow', \
       1/0 with points linecolor rgb grey pointtype 6 pointsize 0.45 title 'one run of SGD'
  set format x '10^{%T}'
  set xlabel 't'
  set ylabel 'loss' offset 0+right,0
  eval y_range('0.76:1.01', '*:*')
  set key top right
  plot data index 0 every ::1 using 1:2 with lines linetype 7 title 'flow', \
       data index 1 every 4 using 1:2 with points linetype 7 pointtype 6 pointsize 0.45 title 'one run of SGD'
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-stages",
                   .title = "Stages of training: norms and loss of the flow and of SGD",
                   .in_report = true,
                   .shows = {"topic.two-stage"},
                   .parameters = document_law("4", "2", "3")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::stages_figure
