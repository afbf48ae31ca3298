// Pairs of different words of one topic against as many pairs that occur together most often:
// attention and cosines of embeddings after training, where words of a topic follow Zipf's law of
// several exponents. Documents of 100 to 150 tokens drawn by LDA, T = v = 10, 10 000 documents,
// cross entropy, Adam at 0.01 with batches of 40, 1000 steps, trained embeddings; 5 seeds, 95 %
// intervals.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/topic/figures/document_law.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::topic::figures::cooccurrence_figure {
namespace {

constexpr std::size_t seeds = 5;
constexpr std::size_t documents = 10'000;
constexpr double concentration = 0.1;
constexpr std::array<double, 5> exponents{0, 0.5, 1, 1.5, 2};

// The word of rank r, from 0, of a topic has a probability as (r + 1)^-exponent.
std::vector<std::vector<Index>> drawn_corpus(const TopicLaw<double>& law, double exponent,
                                             std::uint64_t seed) {
  std::vector<double> cumulative;
  for (Index r = 0; r < law.words; ++r) {
    const double weight = std::pow(static_cast<double>(r + 1), -exponent);
    cumulative.push_back((cumulative.empty() ? 0 : cumulative.back()) + weight);
  }
  constexpr std::uint32_t of_corpus = 0xC0C0U;
  std::vector<std::vector<Index>> made(documents);
  for (std::size_t d = 0; d < documents; ++d) {
    Stream stream(seed, of_corpus, d);
    made[d].resize(100 + stream.index(51));
    // As documents of LDA in DocumentLoss.
    const double fresh = concentration * static_cast<double>(law.topics);
    for (std::size_t n = 0; n < made[d].size(); ++n) {
      const bool is_new = stream.uniform() * (fresh + static_cast<double>(n)) < fresh;
      const Index topic =
          n == 0 || is_new
              ? static_cast<Index>(stream.index(static_cast<std::uint32_t>(law.topics)))
              : law.topic_of(made[d][stream.index(static_cast<std::uint32_t>(n))]);
      const double at = stream.uniform() * cumulative.back();
      const auto rank =
          std::upper_bound(cumulative.begin(), cumulative.end() - 1, at) - cumulative.begin();
      made[d][n] = 1 + topic * law.words + rank;
    }
  }
  return made;
}

// Documents that have both words, (Tv square).
Matrix<double> together(const TopicLaw<double>& law,
                        const std::vector<std::vector<Index>>& corpus) {
  const Index words = law.topics * law.words;
  Matrix<double> count = Matrix<double>::Zero(words, words);
  for (const std::vector<Index>& document : corpus) {
    std::vector<Index> present = document;
    std::sort(present.begin(), present.end());
    present.erase(std::unique(present.begin(), present.end()), present.end());
    for (const Index i : present) {
      for (const Index j : present) count(i - 1, j - 1) += 1;
    }
  }
  return count;
}

// Attention (over its mean of a query) and cosines, in the mean over pairs of one topic, over those
// most often together, over all others; and the share of the second that are of one topic.
struct Contrast {
  std::array<double, 3> attention{}, cosine{};
  double share = 0;
};

Contrast contrast(const TopicLaw<double>& law, double exponent, std::uint64_t seed) {
  Training training;
  training.law = law;
  training.loss = LossKind::cross_entropy;
  training.scale = 0.05;
  training.start = ValueStart::normal;
  training.embedding_width = 100;
  training.seed = seed;
  training.corpus = drawn_corpus(law, exponent, seed);
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  WalkRequest request;
  request.step_size = 0.01;
  request.optimiser.rule = Optimiser::Rule::adam;
  request.steps = 1000;
  request.save_steps = {request.steps};
  request.batch = 40;
  request.seed = seed;
  request.jobs = 1;
  const Trajectory<double> run = walk(rung, rung.initial, request).front();
  require_usable(run.outcome, "topic-cooccurrence");
  const Layout layout(training);
  const Index words = law.topics * law.words;
  Matrix<double> attention =
      effective(layout, run.last_state).logits.bottomRightCorner(words, words).array().exp();
  for (auto query : attention.colwise()) query /= query.mean();
  const ConstView all(run.last_state.data() + layout.embedding(), layout.width, layout.vocabulary);
  const Matrix<double> e = all.rightCols(words).colwise().normalized();
  const Matrix<double> cosine = e.transpose() * e;

  const Matrix<double> count = together(law, training.corpus);
  std::vector<std::pair<double, Index>> pairs;  // by how often together, then place
  for (Index j = 0; j < words; ++j) {
    for (Index i = 0; i < words; ++i) {
      if (i != j) pairs.emplace_back(-count(i, j), j * words + i);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  const auto of_one_topic = static_cast<std::size_t>(words * (law.words - 1));
  Contrast found;
  std::array<double, 3> number{};
  const auto add = [&](std::size_t kind, Index i, Index j) {
    found.attention[kind] += attention(i, j);
    found.cosine[kind] += cosine(i, j);
    number[kind] += 1;
  };
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const Index i = pairs[k].second % words;
    const Index j = pairs[k].second / words;
    const bool same = i / law.words == j / law.words;
    if (same) add(0, i, j);
    if (k < of_one_topic) add(1, i, j);
    if (!same && k >= of_one_topic) add(2, i, j);
    if (same && k < of_one_topic) found.share += 1 / static_cast<double>(of_one_topic);
  }
  for (std::size_t kind = 0; kind < 3; ++kind) {
    found.attention[kind] /= number[kind];
    found.cosine[kind] /= number[kind];
  }
  return found;
}

constexpr std::array<const char*, 3> kinds{"topic", "together", "other"};

std::string half_width(std::size_t number) {
  return number == 1 ? "half_width" : fmt::format("half_width_{}", number);
}

// The last column is the share of one topic among pairs most often together.
std::vector<FigureFile> data(const FigureRequest& request) {
  const auto law = topic_law<double>(request.parameters);
  std::vector<Contrast> found(exponents.size() * seeds);
  request.each(found.size(), [&](std::size_t i) {
    found[i] = contrast(law, exponents[i / seeds], request.seed + i % seeds);
  });
  FigureTable table;
  for (std::size_t x = 0; x < exponents.size(); ++x) {
    std::vector<Cell> row{{"exponent", exponents[x]}};
    const auto add = [&](const std::string& name,
                         const std::function<double(const Contrast&)>& number) {
      std::vector<double> values;
      for (std::size_t s = 0; s < seeds; ++s) values.push_back(number(found[x * seeds + s]));
      const MeanInterval of = mean_interval(values, 0.05);
      row.emplace_back(name, of.value);
      row.emplace_back(half_width(row.size() / 2), of.half_width);
    };
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      add(fmt::format("attention_{}", kinds[k]),
          [k](const Contrast& one) { return one.attention[k]; });
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      add(fmt::format("cosine_{}", kinds[k]), [k](const Contrast& one) { return one.cosine[k]; });
    }
    add("share", [](const Contrast& one) { return one.share; });
    table.add(row);
  }
  return {table.file(request)};
}

Picture picture() {
  constexpr std::array<const char*, 3> titles{"words of one topic",
                                              "as many pairs most often together", "all others"};
  constexpr std::array<const char*, 3> places{"[exponent]-0.015", "exponent", "[exponent]+0.015"};
  Picture made{.height = 3.6, .left = 0.13, .right = 0.96};
  for (const char* number : {"attention", "cosine"}) {
    Panel panel{.x = {.range = "-0.1:2.1", .tics = "0.5"}, .curves = {}};
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::string column = fmt::format("{}_{}", number, kinds[k]);
      const std::string width = half_width(kinds.size() * made.panels.size() + k + 1);
      panel.curves.push_back(plot::line_with_error_bars(places[k], column,
                                                        fmt::format("[{}]-[{}]", column, width),
                                                        fmt::format("[{}]+[{}]", column, width))
                                 .colour(static_cast<int>(k) + 1)
                                 .mark(7, 0.5)
                                 .titled(titles[k]));
    }
    made.panels.push_back(panel);
  }
  Panel& attention = made.panels.front();
  attention.title = "attention, mean over keys = 1";
  attention.y.range = "0:6.5";
  attention.y.own_range = "0:*";
  attention.key = "at graph 0.98,0.99";
  Panel& cosine = made.panels.back();
  cosine.title = "cosine of embeddings";
  cosine.x.label = "exponent of Zipf's law in a topic";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-cooccurrence",
                   .title = "Pairs of one topic against pairs that occur together most often",
                   .shows = {"topic.same-topic-attention"},
                   .parameters = document_law("10", "4", "10")},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::topic::figures::cooccurrence_figure
