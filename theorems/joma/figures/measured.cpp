// Attention entropies that others recorded while training real transformers: one panel a learning
// rate with a curve a layer, and the rebounds of all layers against the loss of their runs.

#include "theorems/joma/rungs/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/figure.hpp"

namespace popgrad::joma::figures::measured_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  if (request.data_file.empty()) {
    throw InputError(fmt::format(
        "popgrad figure {}: --data is missing: a CSV file (or several, joined by commas) "
        "of recorded runs with columns nlayers, lr, minibatch, layer, entropy, val_loss",
        request.name));
  }
  const std::vector<MeasuredRun> runs = read_measured_runs(request.data_file);

  FigureTable rebounds;
  std::map<double, const MeasuredRun*> deepest;
  for (const MeasuredRun& run : runs) {
    const MeasuredRun*& found = deepest[run.learning_rate];
    if (found == nullptr || run.layers > found->layers) found = &run;
    for (std::size_t l = 0; l < run.layer.size(); ++l) {
      const LayerBounce bounce = read_bounce(run.entropy[l]);
      if (!bounce.complete) continue;
      rebounds.add("lr", run.learning_rate, "nlayers", run.layers, "seed", run.seed, "layer",
                   run.layer[l], "fall", bounce.fall(), "rebound", bounce.rebound(), "noise",
                   bounce.noise, "bounces", bounce.bounces(noise_factor, least_change) ? 1 : 0,
                   "final_loss", run.final_loss());
    }
  }

  // The deepest run at each learning rate; a block a layer, a panel a learning rate.
  FigureTable curves;
  FigureTable panels;
  int panel = 0;
  int block = 0;
  for (const auto& [rate, run] : deepest) {
    const int first = block;
    for (std::size_t l = 0; l < run->layer.size(); ++l) {
      curves.block(fmt::format("lr {:g}, layer {}", rate, run->layer[l]));
      for (std::size_t i = 0; i < run->step.size(); ++i) {
        curves.add("minibatch", run->step[i], "entropy", run->entropy[l][i], "layer", run->layer[l],
                   "nlayers", run->layers, "lr", rate, "panel", panel, "final_loss",
                   run->final_loss());
      }
      ++block;
    }
    panels.add("panel", panel++, "lr", rate, "nlayers", run->layers, "first_block", first,
               "last_block", block - 1, "final_loss", run->final_loss());
  }
  return {curves.file(request), panels.file(request, "panels"), rebounds.file(request, "rebounds")};
}

constexpr const char* script =
    R"gp(# .csv: a block a layer: minibatch, entropy, layer. -panels.csv: panel, lr, nlayers, first and last
# block, final loss. -rebounds.csv: a row a layer of every run; 1 lr, 6 rebound, 9 final loss.
stats name.'-panels.csv' skip 1 using 1 nooutput
panels = STATS_records
rows = int(ceil(panels/2.0)) + 1
array rate[panels]; array depth[panels]; array first[panels]; array last[panels]; array loss[panels]
do for [i=1:panels] {
  stats name.'-panels.csv' skip 1 every ::(i-1)::(i-1) using (rate[i]=$2, depth[i]=$3, first[i]=$4, last[i]=$5, loss[i]=$6, $1) nooutput
}
set palette defined (0 '#440154', 0.25 '#3b528b', 0.5 '#21918c', 0.75 '#5ec962', 1 '#d9c51f')
# Inches, for any number of rows.
height = 1.3*rows + 0.35
between = 0.48/height
top = 1 - 0.2/height
bottom = 0.45/height
pitch = (top - bottom + between)/rows
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot
  set cbrange [0:1]
  unset colorbox
  unset key
  set yrange [0:2.8]
  set ytics 1
  set xrange [0:58]
  set xtics 20
  do for [i=1:panels] {
    row = (i-1)/2
    column = (i-1)%2
    set lmargin at screen 0.11 + 0.46*column
    set rmargin at screen 0.11 + 0.46*column + 0.405
    set tmargin at screen top - pitch*row
    set bmargin at screen top - pitch*(row+1) + between
    set title sprintf('lr %g, %d layers, loss %.2f', rate[i], depth[i], loss[i])
    set ylabel (column == 0 ? 'entropy (nats)' : '') offset 1+right,0
    set xlabel ''
    # Said once, in the free place next to the last panel.
    if (i == panels && column == 0) {
      set label 1 "across: 1000 minibatches\nlayers: dark is the first,\nlight the last" \
          at graph 1.1, graph 0.65 left
    }
    plot for [b=first[i]:last[i]] name.'.csv' index b using ($1/1000):2 with lines \
         linewidth 0.8 linecolor palette frac ((b-first[i])/(depth[i] > 1 ? depth[i]-1.0 : 1.0))
  }
  unset label
  row = rows - 1
  set lmargin at screen 0.11
  set rmargin at screen 0.84
  set tmargin at screen top - pitch*row
  set bmargin at screen bottom
  set title 'all layers of all runs'
  set xlabel 'rebound of the entropy: end − minimum (nats)'
  set ylabel 'final validation loss' offset 1.6+right,0
  set xrange [-0.05:2.75]
  set yrange [5:7.5]
  set xtics 0.5
  set ytics 0.5
  kind_of(i) = int(word('7 5 9 11 13 6 4', (i-1)%7 + 1))
  shade(i) = panels > 1 ? (i-1)/(panels-1.0) : 0.5
  set label 99 'lr' at graph 1.07, graph 1.1 left
  do for [i=1:panels] {
    set label i sprintf('%.0e', rate[i]) at graph 1.05, graph (1.05 - 0.14*i) left offset 0.8,0 \
        point pointtype kind_of(i) pointsize 0.6 linecolor palette frac shade(i)
  }
  plot for [i=1:panels] name.'-rebounds.csv' skip 1 using ($1 == rate[i] ? $6 : NaN):9 with points \
       pointtype kind_of(i) pointsize 0.5 linecolor palette frac shade(i)
  unset label
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "joma-measured",
           .title =
               "Recorded attention entropies by layer and learning rate, and rebound against loss",
           .needs_data = true,
           .shows = {"joma.measured-bounce"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::joma::figures::measured_figure
