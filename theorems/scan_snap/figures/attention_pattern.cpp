// Attention of class 0 of Syn-Small over training, token by token: SGD with momentum at two pairs
// of learning rates, Adam at three.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::scan_snap::figures::attention_pattern_figure {
namespace {

constexpr std::uint64_t steps = 100;

void add_panel(CsvText& csv, double decoder_rate, double attention_rate, Optimiser::Rule rule,
               const FigureRequest& request) {
  TrainingInstance<double> instance;
  instance.classes = syn_small<double>();
  instance.decoder_rate = decoder_rate;
  instance.attention_rate = attention_rate;
  const PopulationFlow<double> flow(instance);
  const AnyRung<double> rung = forget_type(flow);
  WalkRequest walk_request;
  walk_request.step_size = 1;
  walk_request.steps = steps;
  walk_request.save_steps = evenly_spread_steps(steps, steps + 1);
  walk_request.batch = 128;
  walk_request.seed = request.seed;
  walk_request.keep_states = true;
  walk_request.optimiser.rule = rule;
  const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
  require_usable(run.outcome, request.name);
  const Index tokens = instance.classes.first[1];
  for (std::size_t i = 0; i < run.states.size(); ++i) {
    const Vector<double> f = flow.features_at(run.states[i]).head(tokens);
    for (Index l = 0; l < tokens; ++l) {
      csv.number(static_cast<double>(i)).number(static_cast<double>(l)).number(f[l] / f.sum());
      csv.end_row();
    }
  }
  csv.end_block();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"step", "token", "attention"};
  add_panel(csv, 1, 1, Optimiser::Rule::momentum, request);
  add_panel(csv, 10, 1, Optimiser::Rule::momentum, request);
  for (const double rate : {0.1, 0.5, 1.0}) {
    add_panel(csv, rate, rate, Optimiser::Rule::adam, request);
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, a panel each: step, token, attention c_0. Tokens 0 to 9 are common, 10 to 19 distinct
# with weights 0.1 to 1.
height = 4.6
data = name.'.csv'
array panels[5]
panels[1] = 'SGD with momentum, η_Y = 1, η_Z = 1'
panels[2] = 'SGD with momentum, η_Y = 10, η_Z = 1'
panels[3] = 'Adam 0.1'
panels[4] = 'Adam 0.5'
panels[5] = 'Adam 1'
set palette defined (0 '#ffffff', 0.25 '#9ecae1', 0.6 '#2171b5', 1 '#08306b')
set cbrange [0:0.3]
set colorbox
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 5,1 margins 0.13,0.83,0.08,0.965 spacing 0,0.055
  set xrange [-0.5:100.5]
  set yrange [-0.5:19.5]
  set ytics ('0' 0, '10' 10, '19' 19)
  set cbtics 0.1
  set ylabel 'token l' offset 0.2+right,0
  do for [p=1:5] {
    set title panels[p]
    unset xlabel
    set format x ''
    if (p == 1) { set label 1 'c_0(l)' at screen 0.86,0.985 } else { unset label 1 }
    if (p == 5) { set xlabel 'step'; set format x '%g' }
    plot data index p-1 using 1:2:3 with image notitle
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "scan-snap-attention",
           .title =
               "Attention over training on Syn-Small: SGD with momentum and Adam at several rates",
           .shows = {"scan-snap.fates"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::scan_snap::figures::attention_pattern_figure
