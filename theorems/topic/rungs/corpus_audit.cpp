#include "theorems/topic/rungs/corpus_audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/statistics/statistics.hpp"
#include "theorems/topic/rungs/documents.hpp"

namespace popgrad::topic {
namespace {

constexpr double audit_level = 0.05;

MeanInterval mean_of(const std::vector<double>& values) {
  return mean_interval(values, audit_level);
}

Evidence above_zero(std::string what, const MeanInterval& mean, const std::string& over) {
  return at_least(
      EvidenceKind::statistical, std::move(what), mean.value - mean.half_width, 0,
      "lower end of the 95 % interval above 0",
      fmt::format("{:.4g} +- {:.2g} over {} {}", mean.value, mean.half_width, mean.count, over));
}

// What the law asks of documents: how many topics, their shares, words within them.
std::vector<EvaluatedHypothesis> hypotheses_of(const Training& training) {
  const TopicLaw<double>& law = training.law;
  std::vector<double> topics, largest, dispersion;
  for (const std::vector<Index>& document : training.corpus) {
    std::vector<double> words(static_cast<std::size_t>(law.vocabulary()), 0.0);
    std::vector<double> shares(static_cast<std::size_t>(law.topics), 0.0);
    for (const Index w : document) {
      words[static_cast<std::size_t>(w)] += 1;
      shares[static_cast<std::size_t>(law.topic_of(w))] += 1;
    }
    const auto length = static_cast<double>(document.size());
    topics.push_back(static_cast<double>(
        std::count_if(shares.begin(), shares.end(), [](double s) { return s > 0; })));
    std::vector<double> sorted = shares;
    std::sort(sorted.rbegin(), sorted.rend());
    double top = 0;
    for (Index t = 0; t < law.active; ++t) top += sorted[static_cast<std::size_t>(t)];
    largest.push_back(top / length);
    // Pearson's dispersion of the words of the largest topic: 1 if they are uniform.
    const auto first = std::max_element(shares.begin(), shares.end()) - shares.begin();
    const double expected = sorted[0] / static_cast<double>(law.words);
    double square = 0;
    for (Index j = 0; j < law.words && law.words > 1; ++j) {
      const double count = words[static_cast<std::size_t>(1 + first * law.words + j)];
      square += (count - expected) * (count - expected) / expected;
    }
    if (law.words > 1) dispersion.push_back(square / static_cast<double>(law.words - 1));
  }
  const auto spread = [](const std::vector<double>& values) {
    return std::minmax_element(values.begin(), values.end());
  };
  const auto [fewest, most] = spread(topics);
  const bool fixed = *fewest == *most && *most == static_cast<double>(law.active);
  const MeanInterval share = mean_of(largest);
  std::vector<EvaluatedHypothesis> all;
  all.push_back(
      {fmt::format("every document has {} topics", law.active), fixed ? Truth::yes : Truth::no,
       fmt::format("{:.0f} to {:.0f}, mean {:.2f}; {:.1f} % of the tokens are of the {} "
                   "largest",
                   *fewest, *most, mean_of(topics).value, 100 * share.value, law.active)});
  if (!dispersion.empty()) {
    const MeanInterval d = mean_of(dispersion);
    all.push_back(
        {"words of a topic are uniform",
         std::fabs(d.value - 1) <= d.half_width ? Truth::yes : Truth::no,
         fmt::format("dispersion {:.3f} +- {:.3f}, 1 if uniform", d.value, d.half_width)});
  }
  return all;
}

}  // namespace

Matrix<double> pointwise_information(const std::vector<std::vector<Index>>& corpus, Index words) {
  Matrix<double> both = Matrix<double>::Constant(words, words, 0.5);
  for (const std::vector<Index>& document : corpus) {
    std::vector<Index> distinct = document;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (const Index i : distinct) {
      for (const Index j : distinct) both(i - 1, j - 1) += 1;
    }
  }
  const auto n = static_cast<double>(corpus.size()) + 0.5;
  Matrix<double> information(words, words);
  for (Index i = 0; i < words; ++i) {
    for (Index j = 0; j < words; ++j) {
      information(i, j) = i == j ? 0 : std::log(both(i, j) * n / (both(i, i) * both(j, j)));
    }
  }
  return information;
}

std::optional<Slopes> regression(const std::vector<double>& y, const std::vector<double>& first,
                                 const std::vector<double>& second) {
  const auto about_mean = [](const std::vector<double>& x) {
    const Eigen::Map<const Vector<double>> values(x.data(), std::ssize(x));
    return Vector<double>(values.array() - values.mean());
  };
  const Vector<double> target = about_mean(y);
  const Vector<double> a = about_mean(first);
  const Vector<double> b = about_mean(second);
  const double aa = a.squaredNorm();
  const double bb = b.squaredNorm();
  const double ab = a.dot(b);
  const double determinant = aa * bb - ab * ab;
  if (!(determinant > 1e-9 * aa * bb)) return std::nullopt;
  const double ya = target.dot(a);
  const double yb = target.dot(b);
  return Slopes{(ya * bb - yb * ab) / determinant, (yb * aa - ya * ab) / determinant};
}

Examination audit_corpus(const Training& training, const Vector<double>& state) {
  const TopicLaw<double>& law = training.law;
  const Layout layout(training);
  const Effective now = effective(layout, state);
  Examination result;
  result.hypotheses = hypotheses_of(training);
  const Index words = law.topics * law.words;

  std::vector<double> of_topic, of_word;
  DocumentLoss document(training);
  for (int i = 0; i < 500; ++i) {
    Stream stream(training.seed, 0xFFFFFFFDU, static_cast<std::uint64_t>(i));
    document.draw(stream);
    std::array<double, 3> sums{};
    std::array<double, 3> counts{};
    document.add_attention(now, sums, counts);
    if (counts[1] == 0 || counts[2] == 0) continue;
    of_topic.push_back(sums[1] / counts[1] - sums[2] / counts[2]);
    of_word.push_back(sums[0] / counts[0] - sums[2] / counts[2]);
  }
  result.evidence.push_back(
      above_zero("attention on the same word less on other topics", mean_of(of_word), "documents"));
  result.evidence.push_back(above_zero("attention on other words of the topic less on other topics",
                                       mean_of(of_topic), "documents"));
  if (layout.embedded) {
    const ConstView e(state.data() + layout.embedding(), layout.width, layout.vocabulary);
    const Matrix<double> gram = e.transpose() * e;
    std::vector<double> gaps;
    for (Index i = 1; i <= words; ++i) {
      double same = 0;
      double other = 0;
      for (Index j = 1; j <= words; ++j) {
        if (i != j) (law.topic_of(i) == law.topic_of(j) ? same : other) += gram(i, j);
      }
      gaps.push_back(same / static_cast<double>(law.words - 1) -
                     other / static_cast<double>(words - law.words));
    }
    result.evidence.push_back(
        above_zero("inner products of embeddings, same topic less others", mean_of(gaps), "words"));
  }
  // Topic, or mere co-occurrence? A regression for each query over all other words as keys.
  const Matrix<double> information = pointwise_information(training.corpus, words);
  // What all queries give to a key is taken off: it says nothing of pairs.
  Matrix<double> logits = now.logits.bottomRightCorner(words, words);
  logits.colwise() -= logits.rowwise().mean().eval();
  std::vector<double> by_topic, by_information;
  for (Index i = 1; i <= words; ++i) {
    std::vector<double> y, topic, together;
    for (Index j = 1; j <= words; ++j) {
      if (i == j) continue;
      y.push_back(logits(j - 1, i - 1));
      topic.push_back(law.topic_of(i) == law.topic_of(j) ? 1 : 0);
      together.push_back(information(i - 1, j - 1));
    }
    const std::optional<Slopes> slopes = regression(y, topic, together);
    if (!slopes) continue;
    by_topic.push_back(slopes->first);
    by_information.push_back(slopes->second);
  }
  if (by_topic.size() > 1) {
    const MeanInterval topic = mean_of(by_topic);
    const MeanInterval together = mean_of(by_information);
    result.evidence.push_back(
        reported("logit of a same-topic key, co-occurrence held", topic.value,
                 fmt::format("+- {:.2g} over {} queries", topic.half_width, topic.count)));
    result.evidence.push_back(
        reported("logit by unit of pointwise information, topic held", together.value,
                 fmt::format("+- {:.2g} over {} queries", together.half_width, together.count)));
  }
  return result;
}

}  // namespace popgrad::topic
