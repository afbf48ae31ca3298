// Attention of class 0 of Syn-Small over training, token by token: SGD with momentum at two pairs
// of learning rates, Adam at three.

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::theorems::scan_snap::figures::attention_pattern_figure {
namespace {

using namespace popgrad::scan_snap;

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

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "scan-snap-attention",
           .title =
               "Attention over training on Syn-Small: SGD with momentum and Adam at several rates",
           .shows = {"scan-snap.fates"}},
      .data = data};
}

}  // namespace popgrad::theorems::scan_snap::figures::attention_pattern_figure
