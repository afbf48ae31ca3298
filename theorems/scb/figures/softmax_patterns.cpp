// Attention after the same sampled sequences: linear by plain steps, linear by three parts, softmax
// by plain steps, next to Q. N = 6, T = 30, Q = 3, B = 256.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::figures::softmax_patterns_figure {
namespace {

void add_block(CsvText& csv, Index tokens, const std::function<Vector<double>(Index)>& column) {
  for (Index k = 0; k < tokens; ++k) {
    const Vector<double> a = column(k);
    for (Index t = 0; t < a.size(); ++t) {
      csv.number(static_cast<double>(t)).number(static_cast<double>(k)).number(a[t]).end_row();
    }
  }
  csv.end_block();
}

Vector<double> trained(const AnyRung<double>& rung, const FigureRequest& request) {
  WalkRequest walk_request;
  walk_request.step_size = 0.05;
  walk_request.steps = 20'000;
  walk_request.save_steps = {walk_request.steps};
  walk_request.batch = 256;
  walk_request.seed = request.seed;
  const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
  require_usable(run.outcome, request.name);
  return run.last_state;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  Training<double> training = scb::training<double>(request.parameters, request.seed);
  const Bigrams<double> b = training.bigrams;
  const Index tokens = b.tokens();
  CsvText csv{"position", "token", "attention"};
  add_block(csv, tokens, [&](Index k) {
    Vector<double> q = Vector<double>::Zero(b.context);
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      q[b.position[static_cast<std::size_t>(e)]] = b.law[e];
    }
    return q;
  });
  const auto add_trained = [&](const AnyRung<double>& rung, const SequenceSgd<double>& reader) {
    const Vector<double> x = trained(rung, request);
    add_block(csv, tokens, [&](Index k) { return reader.attention(x, k); });
  };
  const SequenceSgd<double> linear(training);
  add_trained(forget_type(SequenceSgd<double>(linear)), linear);
  Schedule schedule;
  schedule.l1_step = 0.01;
  schedule.l1_weight = 0.001;
  schedule.l1_steps = 12'000;
  add_trained(forget_type(ThreePartDescent(training, schedule)), linear);
  training.softmax = true;
  // Near 1/T softmax attention moves 1/T^2 as fast; where it is of order one, as fast.
  training.attention_rate = static_cast<double>(b.context);
  const SequenceSgd<double> softmax(training);
  add_trained(forget_type(SequenceSgd<double>(softmax)), softmax);
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: Q, linear by plain steps, linear by three parts, softmax: position, token, attention.
height = 3.4
data = name.'.csv'
stats data index 0 using 1 name 'positions' nooutput
stats data index 0 using 2 name 'tokens' nooutput
titles = '"Q" "linear, plain steps" "linear, three parts" "softmax, plain steps"'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 4,1 margins 0.09,0.86,0.12,0.94 spacing 0,0.08
  set palette defined (-1 red, 0 '#ffffff', 1 blue)
  set cbrange [-1:1]
  set cbtics 1 scale 0.3
  set xrange [-0.5:positions_max+0.5]
  set yrange [-0.5:tokens_max+0.5]
  token_step = tokens_max < 5 ? 1 : 5*ceil((tokens_max+1)/10.0)
  set ytics token_step
  set format x ''
  unset key
  do for [i=0:3] {
    if (i == 3) { set format x '%g'; set xlabel 'position' }
    if (i == 0) { set ylabel 'token' offset 1+right,0 }
    set title word(titles, i+1)
    plot data index i every ::(i==0) using 1:2:3 with image
    unset ylabel
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-softmax",
                   .title = "Attention patterns: linear, linear by three parts, softmax",
                   .shows = {"scb.softmax-link"},
                   .parameters = data_law("6", "30", "3")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::softmax_patterns_figure
