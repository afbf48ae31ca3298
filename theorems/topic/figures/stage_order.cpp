// Which matrices move first, by optimiser, ratio of learning rates and size of the start: the step
// at which attention has made a tenth of its change over that at which W_V has nine tenths of its
// norm of stage 1; above 1 the stages follow each other. Descent on the expected squared loss;
// T = 4, tau = 2, v = 3, 5 seeds.

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/figures/seeded_runs.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic::figures::stage_order_figure {
namespace {

using Rule = Optimiser::Rule;

constexpr std::uint32_t seeds = 5;
constexpr std::uint64_t most_steps = 512'000;
// Of plain descent and heavy ball; Adam evens rates out, so that a hundredth of them matters.
constexpr std::array<double, 7> ratios{1, 3, 10, 30, 100, 300, 1000};
constexpr double of_adam = 0.01;
constexpr std::array<double, 6> sizes{1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3};

// W_K and W_Q learn `ratio` times as fast as W_V.
AnyRung<double> with_rates(const Training& training, double ratio) {
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  const Index attention = Layout(training).values();
  rung.field.rates = Vector<double>::Ones(rung.dimension);
  rung.field.rates.head(attention).setConstant(ratio);
  rung.field.value = [inner = rung.field.value, attention, ratio](
                         const Vector<double>& x, Vector<double>& dx, const double& t) {
    inner(x, dx, t);
    dx.head(attention) *= ratio;
  };
  rung.clone = [training, ratio] { return with_rates(training, ratio); };
  return rung;
}

// Small enough for both groups of matrices; heavy ball moves ten times as far in a step.
double step_size(Rule rule, double ratio) {
  if (rule == Rule::adam) return 0.01 / std::max(1.0, ratio);
  return (rule == Rule::momentum ? 0.1 : 1) / std::max(1.0, ratio / 30);
}

std::vector<std::uint64_t> spread(std::uint64_t steps) {
  std::vector<std::uint64_t> made;
  for (double at = 1; at < static_cast<double>(steps); at *= 1.04) {
    const auto step = static_cast<std::uint64_t>(at);
    if (made.empty() || made.back() < step) made.push_back(step);
  }
  made.insert(made.begin(), 0);
  return made;
}

// The logarithm to base 10 of the ratio of the two steps; NaN if one is not reached.
double order_of_stages(const Training& training, Rule rule, double ratio) {
  const AnyRung<double> rung = with_rates(training, ratio);
  const TopicLaw<double>& law = training.law;
  const auto v = static_cast<double>(law.words);
  const double norm = expand(law, minimum_norm_value(law)).norm();
  const std::size_t norm_column = place_of(rung.observables.columns, "norm_W_V");
  const std::size_t own = place_of(rung.observables.columns, "attention_same_word");
  const std::size_t same = place_of(rung.observables.columns, "attention_same_topic");
  const std::size_t other = place_of(rung.observables.columns, "attention_other_topic");
  for (std::uint64_t steps = 2000; steps <= most_steps; steps *= 4) {
    WalkRequest request;
    request.optimiser.rule = rule;
    request.step_size = step_size(rule, ratio);
    request.steps = steps;
    request.save_steps = spread(steps);
    request.jobs = 1;
    const Trajectory<double> run = walk(rung, rung.initial, request).front();
    double of_value = 0;
    double of_attention = 0;
    const auto excess = [&](const std::vector<double>& row) {
      return (row[own] + (v - 1) * row[same]) / v - row[other];
    };
    for (std::size_t i = 1; i < run.rows.size(); ++i) {
      const std::vector<double>& row = run.rows[i];
      const auto step = static_cast<double>(request.save_steps[i]);
      if (of_value == 0 && row[norm_column] >= 0.9 * norm) of_value = step;
      // Of about 1.3 in all.
      const double moved = std::fabs(excess(row) - excess(run.rows.front()));
      if (of_attention == 0 && moved >= 0.13) of_attention = step;
    }
    if (of_value > 0 && of_attention > 0) return std::log10(of_attention / of_value);
  }
  return NAN;
}

constexpr std::array<std::pair<Rule, const char*>, 3> rules{
    {{Rule::plain, "plain descent"}, {Rule::momentum, "momentum"}, {Rule::adam, "Adam"}}};

std::vector<FigureFile> data(const FigureRequest& request) {
  const auto law = topic_law<double>(request.parameters);
  FigureTable table;
  for (const auto& one : rules) {
    const Rule rule = one.first;
    table.block(one.second);
    constexpr std::size_t cells = ratios.size() * sizes.size();
    const auto ratio_of = [&](std::size_t cell) {
      return ratios[cell / sizes.size()] * (rule == Rule::adam ? of_adam : 1);
    };
    std::vector<double> orders(cells * seeds);
    constexpr std::size_t at_once = sizes.size() * seeds;
    for (std::size_t begin = 0; begin < orders.size(); begin += at_once) {
      request.done((static_cast<double>(&one - rules.data()) +
                    static_cast<double>(begin) / static_cast<double>(orders.size())) /
                   rules.size());
      request.each(at_once, [&](std::size_t part) {
        const std::size_t i = begin + part;
        Training training;
        training.law = law;
        training.key_width = law.vocabulary();
        training.scale = sizes[i / seeds % sizes.size()];
        training.seed = request.seed + i % seeds;
        orders[i] = order_of_stages(training, rule, ratio_of(i / seeds));
      });
    }
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const auto begin = orders.begin() + static_cast<std::ptrdiff_t>(cell * seeds);
      std::vector<double> found(begin, begin + seeds);
      const auto reached = std::remove_if(found.begin(), found.end(),
                                          [](double order) { return std::isnan(order); });
      found.erase(reached, found.end());
      double median = NAN;
      Share of{NAN, NAN, NAN};
      if (!found.empty()) {
        std::sort(found.begin(), found.end());
        const auto first =
            std::count_if(found.begin(), found.end(), [](double order) { return order > 0; });
        of = wilson_interval(static_cast<double>(first), static_cast<double>(found.size()), 0.05);
        median = found[found.size() / 2];
      }
      table.add("rate_ratio", ratio_of(cell), "size", sizes[cell % sizes.size()], "log10_steps",
                median, "value_first", of.value, "low", of.low, "high", of.high);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  Picture made{.height = 1.75, .columns = 3, .left = 0.145, .right = 0.79, .between = 0.045};
  for (const auto& [rule, label] : rules) {
    const bool adam = rule == Rule::adam;
    // Row $0 is of rate $0/6 and size $0 % 6.
    made.panels.push_back(
        {.title = label,
         .x = {.label = " ",
               .range = "-0.5:6.5",
               .tics = adam ? "('10^{-2}' 0, '' 1, '' 2, '' 3, '1' 4, '' 5, '10' 6)"
                            : "('1' 0, '' 1, '10' 2, '' 3, '' 4, '' 5, '10^3' 6)"},
         .y = {.range = "-0.5:5.5", .tics = "('' 0, '' 1, '' 2, '' 3, '' 4, '' 5)"},
         .curves = {plot::image("(int($0)/6)", "(int($0)%6)", "log10_steps").of(label)},
         .colours = {.range = "-2:2",
                     .palette = "defined (-2 red, 0 '#ffffff', 2 blue)",
                     .label = "steps of attention / of W_V",
                     .tics = "('≤ 1/100' -2, '1/10' -1, '1' 0, '10' 1, '≥ 100' 2) offset -0.6,0",
                     .bar = adam}});
  }
  Axis& size = made.panels[0].y;
  size.label = "size of the start";
  size.tics = "('10^{-4}' 0, '10^{-3}' 1, '10^{-2}' 2, '0.03' 3, '0.1' 4, '0.3' 5)";
  made.panels[1].x.label = "rate of W_K, W_Q over that of W_V";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-phases",
                   .title = "Which moves first, `W_V` or attention, by optimiser, rates and start",
                   .shows = {"topic.two-stage"},
                   .parameters = document_law("4", "2", "3")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::stage_order_figure
