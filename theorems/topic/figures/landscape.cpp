// Loss over (alpha, beta) for block-wise W_V, the middle of both, and diagonal W_V: contours, the
// certified optimum, and where attention trained on the frozen W_V goes, by the flow of W_K, W_Q
// and by SGD. T = 5, tau = 2, v = 3.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/optimum.hpp"
#include "theorems/topic/rungs/population_flow.hpp"
#include "theorems/topic/rungs/value_optimum.hpp"

namespace popgrad::topic::figures::landscape_figure {
namespace {

// Mean weights of the same word and of others of its topic over those of other topics.
std::pair<double, double> weights(const TopicLaw<double>& law, const Matrix<double>& logits) {
  double own = 0;
  double same = 0;
  double other = 0;
  double same_count = 0;
  double other_count = 0;
  for (Index i = 1; i < logits.cols(); ++i) {
    own += logits(i, i);
    for (Index j = 1; j < logits.rows(); ++j) {
      if (i == j) continue;
      const bool alike = law.topic_of(i) == law.topic_of(j);
      (alike ? same : other) += logits(j, i);
      (alike ? same_count : other_count) += 1;
    }
  }
  const double base = other / other_count;
  return {std::exp(own / static_cast<double>(law.vocabulary() - 1) - base),
          std::exp(same / same_count - base)};
}

// (alpha, beta) along a path.
using Path = std::vector<std::pair<double, double>>;

Path path_of(const Layout& layout, const TopicLaw<double>& law, const Trajectory<double>& run) {
  Path path;
  for (const Vector<double>& x : run.states) {
    path.push_back(weights(law, effective(layout, x).logits));
  }
  return path;
}

// Of the flow of W_K and W_Q on a frozen W_V, and of SGD.
std::array<Path, 2> training_paths(const TopicLaw<Rational>& law, const BlockValue<Rational>& value,
                                   std::uint64_t seed) {
  Training training;
  training.law = law.cast<double>();
  training.key_width = training.law.vocabulary();
  training.scale = 0.05;
  training.start = ValueStart::block;
  training.value = value.cast<double>();
  training.train_value = false;
  training.seed = seed;
  const Layout layout(training);
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  SolveRequest<double> solve_request;
  solve_request.end = 1e5;
  solve_request.save_at = equally_spaced(0.0, solve_request.end, 401);
  solve_request.relative_tolerance = 1e-8;
  solve_request.absolute_tolerance = 1e-10;
  solve_request.find_events = false;
  solve_request.keep_states = true;
  WalkRequest walk_request;
  walk_request.step_size = 3;
  walk_request.steps = 12'000;
  walk_request.save_steps = evenly_spread_steps(walk_request.steps, 241);
  walk_request.batch = 64;
  walk_request.seed = seed;
  walk_request.keep_states = true;
  return {path_of(layout, training.law, solve(rung, solve_request)),
          path_of(layout, training.law, walk(rung, rung.initial, walk_request).front())};
}

// The part of alpha + others beta = g in the box, as its two ends.
void add_line(FigureTable& table, double g, int others, int most_alpha, int most_beta) {
  const double low = std::max(0.0, (g - most_alpha) / others);
  const double high = std::min<double>(most_beta, g / others);
  for (const double beta : {low, high}) table.add("alpha", g - others * beta, "beta", beta);
}

constexpr std::array<const char*, 3> labels{"block-wise W_V", "the mean of both", "diagonal W_V"};
constexpr std::array<const char*, 2> trainings{"flow of W_K, W_Q", "SGD"};

std::string label_of(const char* value, const char* of_training) {
  return fmt::format("{}, {}", value, of_training);
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable grid, optima, paths;
  const TopicLaw<Rational> exact = topic_law<Rational>(request.parameters);
  // The best alpha of a large tau is below 9 tau v, and beta matters up to the number of words; all
  // panels show the paths whole.
  int most_beta = static_cast<int>(exact.active * exact.words);
  int most_alpha = 9 * most_beta;
  std::vector<BlockValue<Rational>> values;
  for (const char* label : labels) {
    values.push_back(mixture_value(exact, Rational(Rational(values.size()) / 2)));
    const auto found = training_paths(exact, values.back(), request.seed);
    for (std::size_t i = 0; i < trainings.size(); ++i) {
      paths.block(label_of(label, trainings[i]));
      for (const auto& [alpha, beta] : found[i]) {
        most_alpha = std::max(most_alpha, static_cast<int>(std::ceil(alpha)));
        most_beta = std::max(most_beta, static_cast<int>(std::ceil(beta)));
        paths.add("alpha", alpha, "beta", beta);
      }
    }
  }
  const auto others = static_cast<int>(exact.words - 1);
  for (std::size_t k = 0; k < labels.size(); ++k) {
    const Landscape<Rational> made = landscape(exact, values[k]);
    const Certificate c =
        certify_minimum(exact, made, {0, most_alpha, 0, most_beta}, Rational(1) / 1'000'000'000);
    const std::vector<double> alphas = equally_spaced(0.0, static_cast<double>(most_alpha), 217);
    const std::vector<double> betas = equally_spaced(0.0, static_cast<double>(most_beta), 81);
    const std::vector<double> losses = on_grid(made.cast<double>(), alphas, betas, request.jobs);
    throw_if_stopped();
    grid.block(labels[k]);
    for (std::size_t i = 0; i < betas.size(); ++i) {
      for (std::size_t j = 0; j < alphas.size(); ++j) {
        grid.add("alpha", alphas[j], "beta", betas[i], "excess",
                 losses[i * alphas.size() + j] - to_double(c.upper));
      }
    }
    optima.block(labels[k]);
    if (c.on_line && others > 0) {
      add_line(optima, to_double(Rational(c.alpha + Rational(others) * c.beta)), others, most_alpha,
               most_beta);
    } else {
      optima.add("alpha", to_double(c.alpha), "beta", to_double(c.beta));
    }
  }
  return {paths.file(request), grid.file(request, "grid"), optima.file(request, "optimum")};
}

Picture picture() {
  Picture made{.height = 6, .left = 0.12, .right = 0.78};
  for (const char* label : labels) {
    made.panels.push_back(
        {.title = label,
         .x = {.range = "0:54", .own_range = "*:*"},
         .y = {.label = "β, other words of the topic",
               .range = "0:6",
               .own_range = "*:*",
               .label_offset = 0},
         .curves = {plot::image("alpha", "beta", "[excess] > 1e-5 ? [excess] : 1e-5")
                        .in("grid")
                        .of(label),
                    plot::line("alpha", "beta")
                        .of(label_of(label, trainings[0]))
                        .colour(7)
                        .titled(trainings[0]),
                    plot::points("alpha", "beta")
                        .of(label_of(label, trainings[1]))
                        .every("12")
                        .colour(2)
                        .mark(6, 0.5)
                        .titled(trainings[1]),
                    plot::line_with_points("alpha", "beta")
                        .in("optimum")
                        .of(label)
                        .colour(3)
                        .mark(7, 0.7)
                        .titled("certified minimisers")},
         .colours = {.range = "1e-5:0.3",
                     .palette = "defined (0 '#ffffff', 0.3 '#9ecae1', 1 '#2171b5')",
                     .label = "loss above the minimum"},
         .settings = {{"set logscale cb", ""}, {"set format cb '10^{%T}'", ""}}});
  }
  made.panels.front().key = "top right";
  made.panels.back().x.label = "α, weight of the same word";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-landscape",
                   .title = "Loss over `(alpha, beta)` with optimum and training paths",
                   .in_report = true,
                   .shows = {"topic.attention-block", "topic.attention-diagonal",
                             "topic.stage2-optimum"},
                   .parameters = document_law("5", "2", "3")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::landscape_figure
