// Attention of class 0 of Syn-Small over training, token by token: SGD with momentum at two pairs
// of learning rates, Adam at three.

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::scan_snap::figures::attention_pattern_figure {
namespace {

constexpr std::uint64_t steps = 100;

using Rule = Optimiser::Rule;

struct Training {
  const char* name;
  double decoder_rate, attention_rate;
  Rule rule;
};
constexpr std::array<Training, 5> trainings{
    {{"SGD with momentum, η_Y = 1, η_Z = 1", 1, 1, Rule::momentum},
     {"SGD with momentum, η_Y = 10, η_Z = 1", 10, 1, Rule::momentum},
     {"Adam 0.1", 0.1, 0.1, Rule::adam},
     {"Adam 0.5", 0.5, 0.5, Rule::adam},
     {"Adam 1", 1, 1, Rule::adam}}};

void add_rows(const Training& training, const FigureRequest& request, FigureTable& table) {
  TrainingInstance<double> instance;
  instance.classes = syn_small<double>();
  instance.decoder_rate = training.decoder_rate;
  instance.attention_rate = training.attention_rate;
  const PopulationFlow<double> flow(instance);
  const AnyRung<double> rung = forget_type(flow);
  WalkRequest walk_request;
  walk_request.step_size = 1;
  walk_request.steps = steps;
  walk_request.save_steps = evenly_spread_steps(steps, steps + 1);
  walk_request.batch = 128;
  walk_request.seed = request.seed;
  walk_request.keep_states = true;
  walk_request.optimiser.rule = training.rule;
  const Trajectory<double> run = walk(rung, rung.initial, walk_request).front();
  require_usable(run.outcome, request.name);
  const Index tokens = instance.classes.first[1];
  for (std::size_t i = 0; i < run.states.size(); ++i) {
    const Vector<double> f = flow.features_at(run.states[i]).head(tokens);
    for (Index l = 0; l < tokens; ++l) {
      table.add("step", i, "token", l, "attention", f[l] / f.sum());
    }
  }
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  for (const Training& training : trainings) {
    add_rows(training, request, table.block(training.name));
  }
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 4.6, .left = 0.13, .right = 0.79};
  for (const Training& training : trainings) {
    made.panels.push_back(
        {.title = training.name,
         .x = {.range = "-0.5:100.5"},
         // Common tokens, then distinct ones with weights 0.1 to 1.
         .y = {.label = "token l", .range = "-0.5:19.5", .tics = "('0' 0, '10' 10, '19' 19)"},
         .curves = {plot::image("step", "token", "attention").of(training.name)},
         .colours = {.range = "0:0.3", .tics = "0.1"}});
  }
  made.panels[2].colours.label = "attention c_0(l)";
  made.panels.back().x.label = "step";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "scan-snap-attention",
           .title =
               "Attention over training on Syn-Small: SGD with momentum and Adam at several rates",
           .shows = {"scan-snap.fates"}},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::scan_snap::figures::attention_pattern_figure
