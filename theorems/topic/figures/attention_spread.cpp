#include "theorems/topic/figures/attention_spread.hpp"

#include <algorithm>
#include <vector>

namespace popgrad::topic::figures {
namespace {

// Root of the mean square of x/mean - 1.
double relative_spread(const std::vector<double>& x) {
  double mean = 0;
  for (const double one : x) mean += one / static_cast<double>(x.size());
  double square = 0;
  for (const double one : x) {
    const double off = one / mean - 1;
    square += off * off / static_cast<double>(x.size());
  }
  return std::sqrt(square);
}

}  // namespace

AttentionSpread attention_spread(const TopicLaw<double>& law, const Matrix<double>& logits) {
  const Index v = law.words;
  std::vector<double> own, same, other, own_topic, other_topic;
  AttentionSpread found;
  for (Index i = 1; i < law.vocabulary(); ++i) {
    Vector<double> weights = (logits.col(i).array() - logits.col(i).maxCoeff()).exp();
    const Index topic = law.topic_of(i);
    const double others =
        weights.tail(law.topics * v).sum() - weights.segment(1 + topic * v, v).sum();
    weights *= static_cast<double>((law.topics - 1) * v) / others;
    for (Index t = 0; t < law.topics; ++t) {
      const auto of_topic = weights.segment(1 + t * v, v);
      (t == topic ? own_topic : other_topic).push_back(of_topic.sum());
      for (Index j = 1 + t * v; j <= (t + 1) * v; ++j) {
        (j == i ? own : t == topic ? same : other).push_back(weights[j]);
      }
    }
    found.same_topic +=
        weights.segment(1 + topic * v, v).mean() / static_cast<double>(law.topics * v);
  }
  found.of_words = std::max({relative_spread(own), relative_spread(same), relative_spread(other)});
  found.of_topics = std::max(relative_spread(own_topic), relative_spread(other_topic));
  return found;
}

}  // namespace popgrad::topic::figures
