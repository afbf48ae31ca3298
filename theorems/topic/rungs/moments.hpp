#pragma once
/// Moments of which topics a document has.

#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic {

/// Of the other topics, given that one topic is in the document (or not).
template <class T>
struct OtherTopics {
  T one{0};  ///< E[1_t]
  T two{0};  ///< E[1_t 1_s], t != s
};

template <class T>
OtherTopics<T> other_topics(const TopicLaw<T>& law, bool present) {
  const auto n = [](Index count) { return TopicLaw<T>::number(count); };
  const Index left = present ? law.active - 1 : law.active;
  OtherTopics<T> moments;
  moments.one = n(left) / n(law.topics - 1);
  if (law.topics > 2) {
    moments.two = moments.one * n(left - 1) / n(law.topics - 2);
  }
  return moments;
}

}  // namespace popgrad::topic
