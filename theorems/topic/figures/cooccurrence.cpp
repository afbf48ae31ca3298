// Pairs of different words of one topic against as many pairs that occur together most often:
// attention and cosines of embeddings after training, where words of a topic follow Zipf's law of
// several exponents. Documents of 100 to 150 tokens drawn by LDA, T = v = 10, 10 000 documents,
// cross entropy, Adam at 0.01 with batches of 40, 1000 steps, trained embeddings; 5 seeds, 95 %
// intervals.

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
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

// Exponent, then attention of the three kinds of pairs, cosines of the three, and the share of one
// topic among pairs most often together, each with its half width.
std::vector<FigureFile> data(const FigureRequest& request) {
  const auto law = topic_law<double>(request.parameters);
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
  std::vector<Contrast> found(exponents.size() * seeds);
  std::exception_ptr failed;
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::size_t i = 0; i < found.size(); ++i) {
    try {
      found[i] = contrast(law, exponents[i / seeds], request.seed + i % seeds);
    } catch (...) {
#pragma omp critical(popgrad_cooccurrence)
      failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
  CsvText csv{"exponent",     "attention_topic", "half_width",   "attention_together",
              "half_width_2", "attention_other", "half_width_3", "cosine_topic",
              "half_width_4", "cosine_together", "half_width_5", "cosine_other",
              "half_width_6", "share",           "half_width_7"};
  for (std::size_t x = 0; x < exponents.size(); ++x) {
    csv.number(exponents[x]);
    const auto tell = [&](const std::function<double(const Contrast&)>& number) {
      std::vector<double> values;
      for (std::size_t s = 0; s < seeds; ++s) values.push_back(number(found[x * seeds + s]));
      const MeanInterval of = mean_interval(values, 0.05);
      csv.number(of.value).number(of.half_width);
    };
    for (std::size_t kind = 0; kind < 3; ++kind) {
      tell([kind](const Contrast& one) { return one.attention[kind]; });
    }
    for (std::size_t kind = 0; kind < 3; ++kind) {
      tell([kind](const Contrast& one) { return one.cosine[kind]; });
    }
    tell([](const Contrast& one) { return one.share; });
    csv.end_row();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# .csv: exponent of Zipf's law; attention of pairs of one topic, of pairs most often together, of others;
# cosines of the three; share of one topic among the second: each mean over seeds and half width.
height = 3.6
data = name.'.csv'
array titles[2] = ['attention, mean over keys = 1', 'cosine of embeddings']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.13,0.96,0.10,0.95 spacing 0,0.10
  set xrange [-0.1:2.1]
  set xtics 0.5
  do for [i=0:1] {
    set title titles[i+1]
    if (i == 1) { set xlabel "exponent of Zipf's law in a topic"; unset key; set autoscale y } else { set key at graph 0.98,0.99; set yrange [0:6.5] }
    plot for [k=0:2] data every ::1 using ($1+0.015*(k-1)):(column(2+6*i+2*k)):(column(3+6*i+2*k)) with yerrorbars linetype k+1 pointtype 7 pointsize 0.5 notitle, \
         data every ::1 using ($1-0.015):(column(2+6*i)) with lines linetype 1 title 'words of one topic', \
         data every ::1 using 1:(column(4+6*i)) with lines linetype 2 title 'as many pairs most often together', \
         data every ::1 using ($1+0.015):(column(6+6*i)) with lines linetype 3 title 'all others'
  }
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "topic-cooccurrence",
                   .title = "Pairs of one topic against pairs that occur together most often",
                   .shows = {"topic.same-topic-attention"},
                   .parameters = document_law("10", "4", "10")},
          .data = data,
          .script = script};
}

}  // namespace popgrad::topic::figures::cooccurrence_figure
