// Do hidden units of trained networks stand for latents? Scores by layer and level against the
// untrained network, latents of the wrong sequences, and permuted labels; attention entropy of
// every layer over time; when scores rise, with attention trained and frozen at uniform.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/figures/series.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::joma::figures::latents_figure {
namespace {

using joma::checks::LatentTraining;
using joma::checks::NetworkScores;

// The shape of Table 1: three layers with LayerNorm, two levels below the classes; d = 1024 there.
constexpr const char* small = "10,20,20";  // latents of both levels, classes
constexpr const char* large = "20,30,60";
constexpr std::uint32_t networks = 10;
constexpr double level_of_intervals = 0.05;
// By Reading.
constexpr std::array<const char*, joma::checks::readings> names{
    "trained", "untrained", "wrong latents", "untrained, wrong latents", "permuted labels"};
constexpr const char* attention_trained = "attention trained";
constexpr const char* attention_uniform = "attention uniform";

std::string scores_of(Index classes, std::size_t reading) {
  return fmt::format("{} sequences: {}", classes, names[reading]);
}
std::string layer_of(Index layer) { return fmt::format("layer {}", layer); }

LatentTraining training(const char* sizes, std::uint64_t seed) {
  Parameters p("joma");
  p.set("layers", "3");
  p.set("d", "16");
  p.set("layer-norm", "true");
  Value::List latents;
  std::string text = sizes;
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t cut = text.find(',', at);
    latents.emplace_back(text.substr(at, cut == std::string::npos ? cut : cut - at));
    at = cut == std::string::npos ? cut : cut + 1;
  }
  p.set("latents", std::move(latents));
  p.set("children", Value::List{"2", "2", "2"});
  return {multilayer_instance(p, seed), 0.1, 300};
}

// A row a layer and level: mean and half width of every reading, free and matched.
FigureTable scores(const FigureRequest& request) {
  FigureTable all_scores;
  for (const char* sizes : {small, large}) {
    const LatentTraining t = training(sizes, request.seed);
    const std::vector<NetworkScores> all = network_scores(t, request.seed, networks, request.jobs);
    const Index levels = std::ssize(t.instance.data.latent_means);
    const Index entries = t.instance.shape.layers * levels;
    for (std::size_t r = 0; r < joma::checks::readings; ++r) {
      all_scores.block(scores_of(t.instance.data.classes(), r));
      Matrix<double> table(networks, 2 * entries);
      for (std::uint32_t i = 0; i < networks; ++i) {
        table.row(i).head(entries) = all[i].of[r].free.transpose();
        table.row(i).tail(entries) = all[i].of[r].matched.transpose();
      }
      for (Index e = 0; e < entries; ++e) {
        const Index layer = e / levels;
        const Matrix<double> own = table(Eigen::all, std::vector<Index>{e, entries + e});
        // Two means and two variances share what may fail.
        const SampleMoments moments = sample_moments(own, 4 * level_of_intervals);
        const Quantity& free = moments.mean[0];
        const Quantity& matched = moments.mean[1];
        all_scores.add("classes", t.instance.data.classes(), "layer", layer, "level", e % levels,
                       "reading", r, "free", free.value(), "free_error", free.error(), "matched",
                       matched.value(), "matched_error", matched.error());
      }
    }
  }
  return all_scores;
}

// The networks of one kind of attention on their way.
std::vector<Trajectory<double>> trajectories(const FigureRequest& request, LatentTraining t,
                                             bool train_attention) {
  t.instance.shape.train_attention = train_attention;
  WalkRequest walking;
  walking.step_size = t.step_size;
  walking.steps = 2 * t.steps;
  walking.jobs = 1;
  walking.save_steps = growing_steps(walking.steps, 1.25);
  std::vector<Trajectory<double>> runs(networks);
  request.each(networks, [&](std::size_t i) {
    MultilayerInstance<double> own = t.instance;
    own.start = network_start(own.shape, request.seed + i);
    const AnyRung<double> rung = forget_type(MultilayerFlow<double>(own));
    runs[i] = std::move(walk(rung, rung.initial, walking).front());
    require_usable(runs[i].outcome, request.name);
  });
  return runs;
}

// Mean, least and largest over the networks.
FigureTable entropies(const std::vector<Trajectory<double>>& runs, std::size_t layers, double eta) {
  FigureTable table;
  for (std::size_t h = 0; h < layers; ++h) {
    table.block(layer_of(static_cast<Index>(h)));
    for (std::size_t k = 0; k < runs.front().t.size(); ++k) {
      Vector<double> entropy(networks);
      for (std::uint32_t i = 0; i < networks; ++i) entropy[i] = runs[i].rows[k][2 + h];
      table.add("step", std::round(runs.front().t[k] / eta), "layer", h, "mean", entropy.mean(),
                "least", entropy.minCoeff(), "largest", entropy.maxCoeff());
    }
  }
  return table;
}

// The first time at which a column is halfway from its start to its end.
double time_halfway(const Trajectory<double>& run, std::size_t column) {
  const double first = run.rows.front()[column];
  const double way = run.rows.back()[column] - first;
  const auto share = [&](std::size_t k) { return (run.rows[k][column] - first) / way; };
  std::size_t k = 1;
  while (k + 1 < run.t.size() && share(k) < 0.5) ++k;
  const double part = (0.5 - share(k - 1)) / (share(k) - share(k - 1));
  return run.t[k - 1] + part * (run.t[k] - run.t[k - 1]);
}

// A row a layer and level: steps until the score is halfway, mean over the networks and half width.
void add_order(FigureTable& table, const std::vector<Trajectory<double>>& runs, std::size_t layers,
               std::size_t levels, double eta) {
  for (std::size_t e = 0; e < layers * levels; ++e) {
    const std::size_t layer = e / levels;
    Matrix<double> times(networks, 1);
    for (std::uint32_t i = 0; i < networks; ++i) {
      times(i, 0) = time_halfway(runs[i], 2 + layers + 2 * e) / eta;
    }
    // A mean and a variance share what may fail.
    const Quantity mean = sample_moments(times, 2 * level_of_intervals).mean.front();
    table.add("layer", layer, "level", e % levels, "step", mean.value(), "half_width",
              mean.error());
  }
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const LatentTraining t = training(large, request.seed);
  const auto layers = static_cast<std::size_t>(t.instance.shape.layers);
  const std::size_t levels = t.instance.data.latent_means.size();
  const auto trained = trajectories(request, t, true);
  FigureTable order;
  order.block(attention_trained);
  add_order(order, trained, layers, levels, t.step_size);
  order.block(attention_uniform);
  add_order(order, trajectories(request, t, false), layers, levels, t.step_size);
  return {scores(request).file(request, "scores"),
          entropies(trained, layers, t.step_size).file(request, "entropy"),
          order.file(request, "order")};
}

Axis places() {
  return {.label = "layer, level of the latents",
          .range = "-0.2:8.2",
          .tics = "('0, 0' 0.5, '0, 1' 1.5, '1, 0' 3.5, '1, 1' 4.5, '2, 0' 6.5, '2, 1' 7.5)"};
}

Curve at_places(double aside, const std::string& value, const std::string& error) {
  return plot::error_bars(fmt::format("3*[layer] + [level] + {}", 0.5 + aside), value,
                          fmt::format("[{}] - [{}]", value, error),
                          fmt::format("[{}] + [{}]", value, error));
}

Panel scores_panel(const std::string& title, const std::string& range, Index classes) {
  struct Look {
    checks::Reading reading;
    const char* colour;
    int mark;
  };
  using checks::Reading;
  Panel panel{.title = title,
              .x = places(),
              .y = {.label = "mean best |corr|", .range = range, .tics = "0.1"},
              .curves = {}};
  double aside = -0.24;
  for (const auto& [reading, colour, mark] :
       {Look{Reading::trained, "blue", 7}, Look{Reading::permuted_labels, "sky", 6},
        Look{Reading::untrained, "orange", 5}, Look{Reading::permuted_latents, "red", 9},
        Look{Reading::untrained_permuted, "pink", 8}}) {
    const auto place = static_cast<std::size_t>(reading);
    panel.curves.push_back(at_places(aside, "free", "free_error")
                               .in("scores")
                               .of(scores_of(classes, place))
                               .coloured(colour)
                               .mark(mark, 0.6)
                               .titled(names[place]));
    aside += 0.12;
  }
  return panel;
}

Picture picture() {
  Panel few = scores_panel("(a) 20 sequences, latents 10, 20", "0.1:0.8", 20);
  few.key = "bottom left samplen 0.5 maxrows 3 width -3";
  const Panel many = scores_panel("(b) 60 sequences, latents 20, 30", "0.2:0.6", 60);
  Panel entropy{.title = "(c) attention entropy at the last position, 60 sequences",
                .x = {.label = "step", .range = "1:*", .logarithmic = true},
                .y = {.label = "entropy (nats)"},
                .key = "bottom left",
                .curves = {}};
  for (const bool bands : {true, false}) {
    for (const Index h : {0, 1, 2}) {
      const Curve curve = bands ? plot::band("step", "least", "largest")
                                : plot::line("step", "mean").titled(layer_of(h));
      entropy.curves.push_back(curve.in("entropy").of(layer_of(h)).colour(static_cast<int>(h) + 1));
    }
  }
  const auto order = [](double aside, const char* attention) {
    return at_places(aside, "step", "half_width").in("order").of(attention).titled(attention);
  };
  const Panel halfway{.title = "(d) step at which scores are halfway, 60 sequences",
                      .x = places(),
                      .y = {.label = "step", .range = "0:350", .tics = "100"},
                      .key = "top right samplen 0.5",
                      .curves = {order(-0.1, attention_trained).coloured("blue").mark(7, 0.6),
                                 order(0.1, attention_uniform).coloured("red").mark(6, 0.6)}};
  return {.height = 7.2, .left = 0.13, .panels = {few, many, entropy, halfway}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-latents",
                   .title = "Hidden units and latents: trained networks against their nulls",
                   .shows = {"joma.latent-labels", "joma.latent-scores"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::joma::figures::latents_figure
