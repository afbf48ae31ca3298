#pragma once
/// Where attention ends: how far its weights are from three values.

#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::figures {

/// Deviations of the attention of words on words from what symmetric attention has, relative, root
/// of the mean square over all pairs of a kind, the largest of the kinds. Weights of a query are
/// taken over their mean on words of other topics.
struct AttentionSpread {
  double of_words = 0;    ///< of weights: own word, other words of the topic, other topics
  double of_topics = 0;   ///< of their sums over a topic: own topic, other topics
  double same_topic = 0;  ///< mean weight on the words of the own topic, own word included
};
/// `logits` with queries in columns, [MASK] first. Needs v >= 2.
AttentionSpread attention_spread(const TopicLaw<double>& law, const Matrix<double>& logits);

}  // namespace popgrad::topic::figures
