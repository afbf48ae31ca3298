// Where stage 2 ends from 100 random starts of free W_K and W_Q, by the size of their entries, on
// block-wise and diagonal W_V, by the flow and by Adam on the expected loss: shares of starts whose
// attention takes three values to within a tenth, or is uniform over the topics alone, with Wilson
// intervals. T = 4, tau = 2, v = 3.

#include "theorems/topic/figures/attention_spread.hpp"

#include <omp.h>

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

// Blocks: block-wise W_V by the flow and by Adam, diagonal W_V by Adam. Size, share of three
// values, low, high, share of uniform topics, low, high, share of same topic above other topics,
// low, high, median deviations of words and topics, least and largest loss.
std::vector<FigureFile> data(const FigureRequest& request) {
  const auto law = topic_law<double>(request.parameters);
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
  CsvText csv{"sigma",       "three_values", "low",        "high",        "topics_alone",
              "low",         "high",         "same_above", "low",         "high",
              "word_spread", "topic_spread", "least_loss", "largest_loss"};
  const BlockValue<double> block = minimum_norm_value(law);
  for (const Case& one : {Case{block}, Case{block, true}, Case{diagonal_value(law), true}}) {
    for (const double size : {0.01, 0.03, 0.1, 0.3, 1.0}) {
      std::vector<End> ends(starts);
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
      for (int i = 0; i < starts; ++i) {
        ends[static_cast<std::size_t>(i)] = end_of_stage(
            one, law, size, request.seed + static_cast<std::uint64_t>(i), request.name);
      }
      const auto share = [&](const std::function<bool(const End&)>& holds) {
        const auto count = static_cast<double>(std::count_if(ends.begin(), ends.end(), holds));
        const Share of = wilson_interval(count, starts, 0.05);
        csv.number(of.value).number(of.low).number(of.high);
      };
      const auto median = [&](double AttentionSpread::*of) {
        std::vector<double> all;
        for (const End& end : ends) all.push_back(end.attention.*of);
        std::sort(all.begin(), all.end());
        csv.number((all[(starts - 1) / 2] + all[starts / 2]) / 2);
      };
      csv.number(size);
      share([](const End& end) { return end.attention.of_words <= close; });
      share([](const End& end) {
        return end.attention.of_words > close && end.attention.of_topics <= close;
      });
      share([](const End& end) { return end.attention.same_topic > 1; });
      median(&AttentionSpread::of_words);
      median(&AttentionSpread::of_topics);
      const auto [least, largest] = std::minmax_element(
          ends.begin(), ends.end(), [](const End& a, const End& b) { return a.loss < b.loss; });
      csv.number(least->loss).number(largest->loss).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Blocks of .csv, block-wise W_V by the flow and by Adam, diagonal W_V by Adam: size of the start; shares of starts that end with three
# values of attention, uniform over topics alone, same topic above other topics, each with its Wilson
# interval; median deviations of words and of topics; least and largest loss.
height = 4.4
data = name.'.csv'
array titles[3] = ['block-wise W_V, flow', 'block-wise W_V, Adam', 'diagonal W_V, Adam']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.17,0.96,0.075,0.965 spacing 0,0.075
  set logscale x
  set xrange [0.008:1.3]
  set xtics (0.01, 0.03, 0.1, 0.3, 1)
  set yrange [-0.03:1.08]
  set ytics 0.25
  set ylabel 'share of 100 starts' offset 0+right,0
  do for [i=0:2] {
    set title titles[i+1]
    if (i == 2) { set xlabel 'deviation of the entries of W_K and W_Q at first'; set key at graph 0.75,0.62 } else { unset key }
    plot data index i every ::(i==0) using ($1*0.98):2:3:4 with yerrorbars pointtype 7 pointsize 0.5 linecolor rgb blue notitle, \
         '' index i every ::(i==0) using ($1*0.98):2 with lines linecolor rgb blue title 'three values, within a tenth', \
         '' index i every ::(i==0) using ($1*1.02):5:6:7 with yerrorbars pointtype 5 pointsize 0.5 linecolor rgb red notitle, \
         '' index i every ::(i==0) using ($1*1.02):5 with lines linecolor rgb red title 'uniform over topics, not words'
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-attention-ends",
                   .title = "Where free attention ends, over 100 starts by their size",
                   .shows = {"topic.stage2-optimum"},
                   .parameters = document_law("4", "2", "3")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::attention_ends_figure
