// Attention A and values V after the three-part algorithm on sampled sequences, next to Q and P.
// N = 6, T = 30, Q = 3, B = 256.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::figures::heat_maps_figure {
namespace {

void add_block(CsvText& csv, const Matrix<double>& matrix) {
  for (Index k = 0; k < matrix.cols(); ++k) {
    for (Index i = 0; i < matrix.rows(); ++i) {
      csv.number(static_cast<double>(i)).number(static_cast<double>(k)).number(matrix(i, k));
      csv.end_row();
    }
  }
  csv.end_block();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const Training<double> training = scb::training<double>(request.parameters, request.seed);
  const Bigrams<double>& b = training.bigrams;
  const Index n = b.tokens();
  const Index positions = b.context;
  Schedule schedule;
  schedule.l1_step = 0.01;
  schedule.l1_weight = 0.001;
  schedule.l1_steps = 12'000;
  const AnyRung<double> rung = forget_type(ThreePartDescent(training, schedule));
  WalkRequest walk_request;
  walk_request.step_size = 0.05;
  walk_request.steps = 20'000;
  walk_request.save_steps = {walk_request.steps};
  walk_request.batch = 256;
  walk_request.seed = request.seed;
  const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
  require_usable(run.outcome, request.name);
  const Vector<double>& x = run.last_state;
  Matrix<double> truth = Matrix<double>::Zero(positions, n);
  for (Index k = 0; k < n; ++k) {
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      truth(b.position[static_cast<std::size_t>(e)], k) = b.law[e];
    }
  }
  CsvText csv{"row", "column", "value"};
  add_block(csv, truth);
  add_block(csv, Eigen::Map<const Matrix<double>>(x.data() + n * n, positions, n));
  add_block(csv, b.transition);
  add_block(csv, Eigen::Map<const Matrix<double>>(x.data(), n, n));
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv: Q, A (position, token, value), P, V (next token, token, value).
height = 3.4
data = name.'.csv'
stats data index 0 using 1 name 'positions' nooutput
stats data index 0 using 2 name 'tokens' nooutput
set palette defined (0 '#ffffff', 0.25 '#9ecae1', 0.6 '#2171b5', 1 '#08306b')
unset colorbox
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot
  set yrange [-0.5:tokens_max+0.5]
  set ytics ceil((tokens_max+1)/10.0)
  set cbrange [0:0.8]
  set xrange [-0.5:positions_max+0.5]
  set xtics ceil((positions_max+1)/6.0)
  set lmargin at screen 0.12
  set rmargin at screen 0.97
  set tmargin at screen 0.94
  set bmargin at screen 0.76
  set ylabel 'token k' offset 0.5+right,0
  set title 'ground truth Q: weight of position t'
  plot data index 0 every ::1 using 1:2:3 with image notitle
  set tmargin at screen 0.65
  set bmargin at screen 0.47
  set xlabel 'position t'
  set title 'attention A after training'
  plot data index 1 using 1:2:3 with image notitle
  set cbrange [0:0.4]
  set xrange [-0.5:tokens_max+0.5]
  set xtics ceil((tokens_max+1)/10.0)
  set tmargin at screen 0.31
  set bmargin at screen 0.1
  set xlabel 'next token'
  set rmargin at screen 0.5
  set title 'ground truth P'
  plot data index 2 using 1:2:3 with image notitle
  set lmargin at screen 0.59
  set rmargin at screen 0.97
  unset ylabel
  set title 'values V after training'
  plot data index 3 using 1:2:3 with image notitle
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-maps",
                   .title = "Attention and values after training on sequences, next to Q and P",
                   .shows = {"scb.convergence"},
                   .parameters = data_law("6", "30", "3")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scb::figures::heat_maps_figure
