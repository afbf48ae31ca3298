// Stable rank of lower weights on the way of training, from random starts: W_1 of both layers of
// networks on the authors' sets, and V of one layer on their token laws.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/figures/series.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"
#include "theorems/joma/rungs/population_flow.hpp"
#include "theorems/joma/rungs/stable_rank.hpp"

namespace popgrad::joma::figures::trained_rank_figure {
namespace {

constexpr std::uint32_t starts = 6;
constexpr double network_step = 0.1;
constexpr std::uint64_t network_steps = 1000;
constexpr double step_size = 0.1;        // of the authors' runs
constexpr std::uint64_t steps = 10'000;  // five times as many: ranks come back late
constexpr double seen = 0.02;            // share of the start that a fall or a rise has to reach
constexpr double growth = 1.15;          // of the steps that are saved
constexpr std::array networks{"W_1 of layer 0", "W_1 of layer 1"};
constexpr std::array laws{"gaussian", "uniform"};

std::string one_layer(const char* law) { return fmt::format("V {}", law); }

// What is followed of one kind of run: a row a save point, a column a start.
struct Ranks {
  std::string what;
  std::vector<std::uint64_t> step;
  Matrix<double> rank;
};

Trajectory<double> descent(const AnyRung<double>& rung, double eta,
                           const std::vector<std::uint64_t>& saved) {
  WalkRequest request;
  request.step_size = eta;
  request.steps = saved.back();
  request.save_steps = saved;
  request.keep_states = true;
  request.jobs = 1;
  return std::move(walk(rung, rung.initial, request).front());
}

std::vector<Ranks> of_networks(const FigureRequest& request) {
  Parameters p("joma");
  p.set("layers", "2");
  p.set("d", "8");
  p.set("latents", Value::List{"8", "10", "12"});
  p.set("children", Value::List{"2", "2", "2"});
  const std::vector<std::uint64_t> saved = growing_steps(network_steps, growth);
  const auto rows = static_cast<Index>(saved.size());
  std::vector<Ranks> found;
  for (const char* what : networks) {
    found.push_back({what, saved, Matrix<double>::Constant(rows, starts, std::nan(""))});
  }
  request.each(starts, [&](std::size_t i) {
    const MultilayerFlow<double> flow(multilayer_instance(p, request.seed + i));
    const Trajectory<double> run = descent(forget_type(flow), network_step, saved);
    for (const NetworkBlock& block : flow.network().blocks()) {
      if (!block.name.starts_with("W_1")) continue;
      for (Index k = 0; k < std::ssize(run.states); ++k) {
        const Matrix<double> weights = run.states[static_cast<std::size_t>(k)]
                                           .segment(block.offset, block.rows * block.cols)
                                           .reshaped(block.rows, block.cols);
        found[block.name == "W_1_0" ? 0 : 1].rank(k, static_cast<Index>(i)) = stable_rank(weights);
      }
    }
  });
  return found;
}

Ranks of_one_layer(const FigureRequest& request, const char* law) {
  Parameters p("joma");
  p.set("law", law);
  p.set("phi", "tanh");
  p.set("units", "16");
  p.set("attention", "softmax");
  p.set("temperature", "0.5");
  const std::vector<std::uint64_t> saved = growing_steps(steps, growth);
  Ranks found{one_layer(law), saved, Matrix<double>(static_cast<Index>(saved.size()), starts)};
  request.each(starts, [&](std::size_t i) {
    const PopulationFlow<double> flow(class_instance<double>(p, request.seed + i));
    const std::vector<double> rank =
        descent(forget_type(flow), step_size, saved).column("stable_rank");
    found.rank.col(static_cast<Index>(i)) =
        Eigen::Map<const Vector<double>>(rank.data(), std::ssize(rank));
  });
  return found;
}

// Shares: starts in which the rank falls, and in which it falls and rises again, with what they may
// be.
std::vector<FigureFile> data(const FigureRequest& request) {
  std::vector<Ranks> all = of_networks(request);
  for (const char* law : laws) all.push_back(of_one_layer(request, law));
  FigureTable curves;
  FigureTable shares;
  for (const Ranks& each : all) {
    curves.block(each.what);
    for (Index k = 0; k < each.rank.rows(); ++k) {
      std::vector<double> values;
      for (Index i = 0; i < starts; ++i) values.push_back(each.rank(k, i));
      const auto [median, smallest, largest] = spread(values);
      curves.add("step", each.step[static_cast<std::size_t>(k)], "median", median, "least",
                 smallest, "largest", largest);
    }
    double falls = 0;
    double both = 0;
    const Vector<double> least = each.rank.colwise().minCoeff();
    for (Index i = 0; i < starts; ++i) {
      const double enough = seen * each.rank(0, i);
      const bool fallen = each.rank(0, i) - least[i] > enough;
      falls += fallen ? 1 : 0;
      both += fallen && each.rank(each.rank.rows() - 1, i) - least[i] > enough ? 1 : 0;
    }
    const Share fall = wilson_interval(falls, starts, 0.05);
    const Share rise = wilson_interval(both, starts, 0.05);
    shares.add("kind", each.what, "starts", starts, "fall", falls, "fall_low", fall.low,
               "fall_high", fall.high, "both", both, "both_low", rise.low, "both_high", rise.high,
               "start", each.rank.row(0).mean(), "least", least.mean(), "end",
               each.rank.row(each.rank.rows() - 1).mean());
  }
  return {curves.file(request), shares.file(request, "shares")};
}

Picture picture() {
  const auto panel = [](const char* title, const char* range) {
    return Panel{.title = title,
                 .x = {.label = "step", .range = range, .logarithmic = true},
                 .y = {.label = "stable rank", .range = "0:*"},
                 .key = "bottom left",
                 .curves = {}};
  };
  const auto add = [](Panel& to, const std::string& block, const char* title) {
    const int colour = to.curves.empty() ? 1 : 2;
    to.curves.insert(to.curves.begin(),
                     plot::band("step", "least", "largest").of(block).colour(colour));
    to.curves.push_back(plot::line("step", "median").of(block).colour(colour).titled(title));
  };
  Panel two = panel("(a) W_1 of two layers, ReLU: median and range of 6", "1:1000");
  add(two, networks[0], "layer 0");
  add(two, networks[1], "layer 1");
  Panel one = panel("(b) V of one layer, softmax attention, 16 tanh units", "1:10000");
  add(one, one_layer(laws[0]), "Gaussian law");
  add(one, one_layer(laws[1]), "uniform law");
  return {.height = 5.2, .left = 0.13, .right = 0.96, .panels = {two, one}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-trained-rank",
               .title = "Stable rank of lower weights while they are trained from random starts"},
      .data = data,
      .picture = picture};
}

}  // namespace popgrad::joma::figures::trained_rank_figure
