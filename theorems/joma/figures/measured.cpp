// Attention entropies that others recorded while training real transformers: one panel a learning
// rate with a curve a layer, and the rebounds of all layers against the loss of their runs.

#include "theorems/joma/rungs/measured.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/figure.hpp"

namespace popgrad::theorems::joma::figures::measured_figure {
namespace {

using namespace popgrad::joma;

std::vector<FigureFile> data(const FigureRequest& request) {
  if (request.data_file.empty()) {
    reject("popgrad figure " + request.name, "--data", "''",
           "is needed: a CSV file (or several, joined by commas) of recorded runs with columns "
           "nlayers, lr, minibatch, layer, entropy, val_loss");
  }
  const std::vector<MeasuredRun> runs = read_measured_runs(request.data_file);

  CsvText rebounds{"lr",      "nlayers", "seed",    "layer",     "fall",
                   "rebound", "noise",   "bounces", "final_loss"};
  std::map<double, const MeasuredRun*> deepest;
  for (const MeasuredRun& run : runs) {
    const MeasuredRun*& found = deepest[run.learning_rate];
    if (found == nullptr || run.layers > found->layers) found = &run;
    for (std::size_t l = 0; l < run.layer.size(); ++l) {
      const LayerBounce bounce = read_bounce(run.entropy[l]);
      if (!bounce.complete) continue;
      rebounds.number(run.learning_rate).number(run.layers);
      rebounds.number(static_cast<double>(run.seed)).number(run.layer[l]);
      rebounds.number(bounce.fall()).number(bounce.rebound()).number(bounce.noise);
      rebounds.number(bounce.bounces(noise_factor, least_change) ? 1 : 0);
      rebounds.number(run.final_loss()).end_row();
    }
  }

  // The deepest run at each learning rate; a block a layer, a panel a learning rate.
  CsvText curves{"minibatch", "entropy", "layer", "nlayers", "lr", "panel", "final_loss"};
  CsvText panels{"panel", "lr", "nlayers", "first_block", "last_block", "final_loss"};
  int panel = 0;
  int block = 0;
  for (const auto& [rate, run] : deepest) {
    const int first = block;
    for (std::size_t l = 0; l < run->layer.size(); ++l) {
      for (std::size_t i = 0; i < run->step.size(); ++i) {
        curves.number(run->step[i]).number(run->entropy[l][i]).number(run->layer[l]);
        curves.number(run->layers).number(rate).number(panel).number(run->final_loss()).end_row();
      }
      curves.end_block();
      ++block;
    }
    panels.number(panel++).number(rate).number(run->layers).number(first).number(block - 1);
    panels.number(run->final_loss()).end_row();
  }
  return {{request.name + ".csv", curves.text()},
          {request.name + "-panels.csv", panels.text()},
          {request.name + "-rebounds.csv", rebounds.text()}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "joma-measured",
           .title =
               "Recorded attention entropies by layer and learning rate, and rebound against loss",
           .needs_data = true,
           .shows = {"joma.measured-bounce"}},
      .data = data};
}

}  // namespace popgrad::theorems::joma::figures::measured_figure
