// Where stage 2 ends from 100 random starts of free W_K and W_Q, by the size of their entries, on
// block-wise and diagonal W_V, by the flow and by Adam on the expected loss: shares of starts whose
// attention takes three values to within a tenth, or is uniform over the topics only, with Wilson
// intervals. T = 4, tau = 2, v = 3.

#include "theorems/topic/figures/attention_spread.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic::figures::attention_ends_figure {

namespace {

constexpr std::array<const char*, 3> labels{"block-wise W_V, flow", "block-wise W_V, Adam",
                                            "diagonal W_V, Adam"};
constexpr int starts = 100;
constexpr double close = 0.1;

struct End {
  AttentionSpread attention;
  double loss = 0;
};

struct Case {
  BlockValue<double> value;
  bool adam = false;  // in place of the flow
};

// Late in stage 2, in units of its time; on the diagonal W_V the flow would take twenty times as
// long.
Trajectory<double> run_of(const Case& one, const AnyRung<double>& rung, double time) {
  if (one.adam) {
    WalkRequest request;
    request.step_size = 0.01;
    request.optimiser.rule = Optimiser::Rule::adam;
    request.steps = 4000;
    request.save_steps = {request.steps};
    request.jobs = 1;
    return walk(rung, rung.initial, request).front();
  }
  SolveRequest<double> request;
  request.end = 30 * time;
  request.save_at = {request.end};
  request.relative_tolerance = 1e-7;
  request.absolute_tolerance = 1e-9;
  request.find_events = false;
  return solve(rung, request);
}

End end_of_stage(const Case& one, const TopicLaw<double>& law, double size, std::uint64_t seed,
                 const std::string& figure) {
  Training training;
  training.law = law;
  training.key_width = law.vocabulary();
  training.scale = size;
  training.start = ValueStart::block;
  training.value = one.value;
  training.train_value = false;
  training.seed = seed;
  const Trajectory<double> run =
      run_of(one, forget_type(PopulationFlow(training)), 1 / attention_rate(law, law.vocabulary()));
  require_usable(run.outcome, figure);
  return {attention_spread(law, effective(Layout(training), run.last_state).logits),
          run.rows.back().front()};
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const auto law = topic_law<double>(request.parameters);
  const BlockValue<double> block = minimum_norm_value(law);
  const std::array<Case, 3> cases{{{block}, {block, true}, {diagonal_value(law), true}}};
  FigureTable table;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    table.block(labels[k]);
    for (const double size : {0.01, 0.03, 0.1, 0.3, 1.0}) {
      std::vector<End> ends(starts);
      request.each(starts, [&](std::size_t i) {
        ends[i] = end_of_stage(cases[k], law, size, request.seed + i, request.name);
      });
      const auto share = [&](const std::function<bool(const End&)>& holds) {
        const auto count = static_cast<double>(std::count_if(ends.begin(), ends.end(), holds));
        return wilson_interval(count, starts, 0.05);
      };
      const auto median = [&](double AttentionSpread::*of) {
        std::vector<double> all;
        for (const End& end : ends) all.push_back(end.attention.*of);
        std::sort(all.begin(), all.end());
        return (all[(starts - 1) / 2] + all[starts / 2]) / 2;
      };
      const Share three = share([](const End& end) { return end.attention.of_words <= close; });
      const Share topics = share([](const End& end) {
        return end.attention.of_words > close && end.attention.of_topics <= close;
      });
      const Share above = share([](const End& end) { return end.attention.same_topic > 1; });
      const auto [least, largest] = std::minmax_element(
          ends.begin(), ends.end(), [](const End& a, const End& b) { return a.loss < b.loss; });
      table.add("sigma", size, "three_values", three.value, "low", three.low, "high", three.high,
                "topics_alone", topics.value, "low", topics.low, "high", topics.high, "same_above",
                above.value, "low", above.low, "high", above.high, "word_spread",
                median(&AttentionSpread::of_words), "topic_spread",
                median(&AttentionSpread::of_topics), "least_loss", least->loss, "largest_loss",
                largest->loss);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 4.4, .left = 0.17, .right = 0.96};
  for (const char* label : labels) {
    // Columns 6 and 7 are named "low" and "high" as well.
    made.panels.push_back(
        {.title = label,
         .x = {.range = "0.008:1.3", .logarithmic = true, .tics = "(0.01, 0.03, 0.1, 0.3, 1)"},
         .y = {.label = "share of 100 starts",
               .range = "-0.03:1.08",
               .tics = "0.25",
               .label_offset = 0},
         .curves = {plot::line_with_error_bars("[sigma]*0.98", "three_values", "low", "high")
                        .of(label)
                        .colour(1)
                        .mark(7, 0.5)
                        .titled("three values, within a tenth"),
                    plot::line_with_error_bars("[sigma]*1.02", "topics_alone", "(column(6))",
                                               "(column(7))")
                        .of(label)
                        .colour(2)
                        .mark(5, 0.5)
                        .titled("uniform over topics, not words")}});
  }
  made.panels.back().key = "at graph 0.75,0.62";
  made.panels.back().x.label = "deviation of the entries of W_K and W_Q at first";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-attention-ends",
                   .title = "Where free attention ends, over 100 starts by their size",
                   .shows = {"topic.stage2-optimum"},
                   .parameters = document_law("4", "2", "3")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::attention_ends_figure
