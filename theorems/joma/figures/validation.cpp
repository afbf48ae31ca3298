// Does a rebound of attention entropy go with a low validation loss? Networks of two layers trained
// on samples of Theorem 5's tree, with the loss on its whole law: least validation loss against
// the rebound, by learning rate, and their rank correlation at fixed rate.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "theorems/joma/rungs/multilayer_flow.hpp"

namespace popgrad::joma::figures::validation_figure {
namespace {

constexpr std::array rates{0.1, 0.2, 0.4};
constexpr std::uint32_t seeds = 12;  // of the sample and the start, at each rate
constexpr int draws = 40;            // of sequences with their classes
constexpr double horizon = 40;       // learning rate * steps
constexpr int looks = 40;
constexpr Index layers = 2;
constexpr int permutations = 2000;
constexpr std::uint32_t stream_of_samples = 0x5A3B1EU;

std::string rate_of(double rate) { return fmt::format("learning rate {:g}", rate); }
std::string layer_of(std::size_t layer) { return fmt::format("layer {}", layer); }

MultilayerInstance<double> whole_law(std::uint64_t seed) {
  Parameters p("joma");
  p.set("hierarchy", "tree");
  p.set("depth", "3");
  p.set("rho", "0.6");
  p.set("layers", std::to_string(layers));
  p.set("d", "8");
  p.set("width", "16");
  return multilayer_instance(p, seed);
}

// The sequences of a sample, each with the share that it and its classes have of the draws.
SequenceData sample_of(const SequenceData& data, Stream stream) {
  std::map<Index, Vector<double>> drawn;
  std::vector<double> sums(static_cast<std::size_t>(data.sequences()));
  std::partial_sum(data.probability.begin(), data.probability.end(), sums.begin());
  sums.back() = 1;
  for (int i = 0; i < draws; ++i) {
    const auto sequence = static_cast<Index>(stream.category(sums));
    const double u = stream.uniform();
    Index label = 0;
    double below = data.target(0, sequence);
    while (label + 1 < data.classes() && u >= below) below += data.target(++label, sequence);
    drawn.try_emplace(sequence, Vector<double>::Zero(data.classes())).first->second[label] += 1;
  }
  SequenceData sample;
  sample.tokens = data.tokens;
  sample.length = data.length;
  sample.probability.resize(std::ssize(drawn));
  sample.target.resize(data.classes(), std::ssize(drawn));
  Index at = 0;
  for (const auto& [sequence, counts] : drawn) {
    sample.content.push_back(data.content[static_cast<std::size_t>(sequence)]);
    sample.probability[at] = counts.sum() / draws;
    sample.target.col(at++) = counts / counts.sum();
  }
  return sample;
}

struct Run {
  double least_loss = 0, last_loss = 0;
  std::array<double, layers> rebound{};  ///< of attention entropy: end less least before
};

Run trained(double rate, std::uint64_t seed) {
  const MultilayerInstance<double> instance = whole_law(seed);
  const MultilayerFlow<double> law(instance);
  MultilayerInstance<double> own = instance;
  own.data = sample_of(instance.data, Stream(seed, stream_of_samples, 0));
  const MultilayerFlow<double> flow(own);
  std::vector<Index> all(static_cast<std::size_t>(instance.data.sequences()));
  std::iota(all.begin(), all.end(), Index{0});
  const SequenceBatch batch = sequence_batch(instance.data, all);
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  const auto steps_of_look = static_cast<int>(std::lround(horizon / (rate * looks)));
  Run run;
  run.least_loss = law.loss(x);
  std::array<double, layers> least{};
  least.fill(HUGE_VAL);
  for (int look = 0; look <= looks; ++look) {
    for (int step = 0; step < (look > 0 ? steps_of_look : 0); ++step) {
      flow.rhs(x, slope, 0.0);
      x += rate * slope;
    }
    run.last_loss = law.loss(x);
    run.least_loss = std::min(run.least_loss, run.last_loss);
    law.network().forward(x, batch);
    for (Index h = 0; h < layers; ++h) {
      const auto layer = static_cast<std::size_t>(h);
      const double entropy =
          law.network().attention_entropy(h, batch).dot(instance.data.probability);
      least[layer] = std::min(least[layer], entropy);
      run.rebound[layer] = entropy - least[layer];
    }
  }
  return run;
}

// Mean over rates of the rank correlation of one layer's rebounds with a loss, and where 95 % of
// permutations within rates have it.
Share correlation(const std::vector<Run>& runs, std::size_t layer, double Run::*loss,
                  std::uint64_t seed) {
  std::vector<std::vector<double>> x(rates.size());
  std::vector<std::vector<double>> y(rates.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    x[i / seeds].push_back(runs[i].rebound[layer]);
    y[i / seeds].push_back(runs[i].*loss);
  }
  const auto mean = [&] {
    double sum = 0;
    for (std::size_t r = 0; r < rates.size(); ++r) sum += RankCorrelation()(x[r], y[r]);
    return sum / static_cast<double>(rates.size());
  };
  const double found = mean();
  Stream stream(seed, stream_of_samples, 1);
  std::vector<double> by_chance;
  for (int i = 0; i < permutations; ++i) {
    for (std::vector<double>& values : x) {
      for (std::size_t k = values.size(); k-- > 1;) {
        std::swap(values[k], values[stream.index(static_cast<std::uint32_t>(k) + 1)]);
      }
    }
    by_chance.push_back(mean());
  }
  std::sort(by_chance.begin(), by_chance.end());
  const auto quantile = [&](double p) {
    return by_chance[static_cast<std::size_t>(p * (permutations - 1))];
  };
  return {found, quantile(0.025), quantile(0.975)};
}

// Correlations: of a layer with the least loss and then with the last, and where chance has 95 % of
// it.
std::vector<FigureFile> data(const FigureRequest& request) {
  std::vector<Run> runs(rates.size() * seeds);
  request.each(runs.size(), [&](std::size_t i) {
    runs[i] = trained(rates[i / seeds], request.seed + i % seeds);
  });
  FigureTable table;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    if (i % seeds == 0) table.block(rate_of(rates[i / seeds]));
    table.add("rate", rates[i / seeds], "least_loss", run.least_loss, "last_loss", run.last_loss,
              "rebound_0", run.rebound[0], "rebound_1", run.rebound[1]);
  }
  FigureTable correlations;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    correlations.block(layer_of(layer));
    for (const auto loss : {&Run::least_loss, &Run::last_loss}) {
      const Share share = correlation(runs, layer, loss, request.seed);
      correlations.add("layer", layer, "least", loss == &Run::least_loss ? 1 : 0, "correlation",
                       share.value, "chance_low", share.low, "chance_high", share.high);
    }
  }
  return {table.file(request), correlations.file(request, "correlation")};
}

Picture picture() {
  Picture made{.height = 5.4, .left = 0.15, .right = 0.96};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (const char* column : {"correlation", "chance_low", "chance_high"}) {
      made.values.push_back({.name = fmt::format("{}_{}", column, layer),
                             .part = "correlation",
                             .block = layer_of(layer),
                             .column = column});
    }
    Panel panel{.title = fmt::format("=sprintf('{}: rank correlation %.2f (chance %.2f to %.2f)', "
                                     "correlation_{}, chance_low_{}, chance_high_{})",
                                     layer_of(layer), layer, layer, layer),
                .x = {.label = "rebound of attention entropy: end − least before (nats)"},
                .y = {.label = "least validation loss (nats)"},
                .key = layer == 0 ? "top right samplen 0.5" : "",
                .curves = {}};
    constexpr std::array marks{7, 5, 9};
    for (std::size_t k = 0; k < rates.size(); ++k) {
      panel.curves.push_back(plot::points(fmt::format("rebound_{}", layer), "least_loss")
                                 .of(rate_of(rates[k]))
                                 .colour(static_cast<int>(k) + 1)
                                 .mark(marks[k], 0.6)
                                 .titled(rate_of(rates[k])));
    }
    made.panels.push_back(panel);
  }
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-validation",
                   .title = "Rebound of attention entropy against the least validation loss"},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::joma::figures::validation_figure
