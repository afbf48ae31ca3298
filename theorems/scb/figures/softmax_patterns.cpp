// Attention after the same sampled sequences: linear by plain steps, linear by three parts, softmax
// by plain steps, next to Q. N = 6, T = 30, Q = 3, B = 256.

#include <array>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/checks/examples.hpp"
#include "theorems/scb/figures/data_law.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::figures::softmax_patterns_figure {
namespace {

constexpr std::array<const char*, 4> patterns{"Q", "linear, plain steps", "linear, three parts",
                                              "softmax, plain steps"};

void add_block(FigureTable& table, const char* name, const Matrix<double>& pattern) {
  table.block(name);
  for (Index k = 0; k < pattern.cols(); ++k) {
    for (Index t = 0; t < pattern.rows(); ++t) {
      table.add("position", t, "token", k, "attention", pattern(t, k));
    }
  }
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
  FigureTable table;
  add_block(table, patterns[0], checks::dense_law(b));
  const auto add_trained = [&](const char* name, const AnyRung<double>& rung,
                               const SequenceSgd<double>& reader) {
    const Vector<double> x = trained(rung, request);
    Matrix<double> pattern(b.context, b.tokens());
    for (Index k = 0; k < b.tokens(); ++k) pattern.col(k) = reader.attention(x, k);
    add_block(table, name, pattern);
  };
  const SequenceSgd<double> linear(training);
  add_trained(patterns[1], forget_type(SequenceSgd<double>(linear)), linear);
  Schedule schedule;
  schedule.l1_step = 0.01;
  schedule.l1_weight = 0.001;
  schedule.l1_steps = 12'000;
  add_trained(patterns[2], forget_type(ThreePartDescent(training, schedule)), linear);
  training.softmax = true;
  // Near 1/T softmax attention moves 1/T^2 as fast; where it is of order one, as fast.
  training.attention_rate = static_cast<double>(b.context);
  const SequenceSgd<double> softmax(training);
  add_trained(patterns[3], forget_type(SequenceSgd<double>(softmax)), softmax);
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 3.4, .left = 0.09, .right = 0.86};
  for (const char* const pattern : patterns) {
    made.panels.push_back(
        {.title = pattern,
         .x = {.range = "*:*", .own_range = "*:*"},
         .y = {.range = "*:*", .own_range = "*:*"},
         .curves = {plot::image("position", "token", "attention").of(pattern)},
         .colours = {.range = "-1:1", .diverging = true, .tics = "1"},
         .settings = {{"stats name.'.csv' skip 1 using 2 nooutput", ""},
                      {"set ytics STATS_max < 5 ? 1 : 5*ceil((STATS_max + 1)/10)", ""}}});
  }
  made.panels.front().y.label = "token";
  made.panels.back().x.label = "position";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-softmax",
                   .title = "Attention patterns: linear, linear by three parts, softmax",
                   .shows = {"scb.softmax-link"},
                   .parameters = data_law("6", "30", "3")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::softmax_patterns_figure
