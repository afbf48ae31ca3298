#pragma once
/// What the rungs on symmetric matrices report: W_V and attention from their few numbers.

#include <array>
#include <cmath>

#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic {

/// Entries of W_V that w0, d, s', u' stand for.
template <class T>
std::array<T, 4> entries_of_value(const TopicLaw<T>& law) {
  const T v = TopicLaw<T>::number(law.words);
  const T words = TopicLaw<T>::number(law.topics * law.words);
  return {words, words, T(words * (v - T(1))), T(words * (words - v))};
}

/// Frobenius norm.
template <class T>
T value_norm(const TopicLaw<T>& law, const Vector<T>& value) {
  using std::sqrt;
  const std::array<T, 4> entries = entries_of_value(law);
  T sum(0);
  for (Index i = 0; i < 4; ++i)
    sum = sum + entries[static_cast<std::size_t>(i)] * value[i] * value[i];
  return sqrt(sum);
}

/// Attention over uniform attention on the same word, other words of the topic, other topics; for a
/// query whose topic is in the document. 0 for kinds that no document has (v = 1; tau = 1, p_r = 0).
template <class T>
std::array<T, 3> attention_by_kind(const TopicLaw<T>& law, const T& alpha, const T& beta,
                                   const T& mask_weight) {
  const T v = TopicLaw<T>::number(law.words);
  const T pi = law.frequency(true);
  const T normaliser =
      alpha * pi + beta * (v - T(1)) * pi + T(1) - v * pi + (mask_weight - T(1)) * law.mask();
  const bool others = law.active > 1 || law.stray() > T(0);
  return {T(alpha / normaliser), law.words > 1 ? T(beta / normaliser) : T(0),
          others ? T(T(1) / normaliser) : T(0)};
}

}  // namespace popgrad::topic
