#pragma once
/// What the rungs on symmetric matrices report: W_V and attention from their few numbers.

#include <array>
#include <cmath>
#include <vector>

#include "popgrad/rungs/observable.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic {

/// Entries of W_V that w0, d, s', u' stand for.
template <class T>
std::array<T, 4> entries_of_value(const TopicLaw<T>& law) {
  const T v = TopicLaw<T>::number(law.words);
  const T words = TopicLaw<T>::number(law.topics * law.words);
  return {words, words, T(words * (v - T(1))), T(words * (words - v))};
}

/// What the rungs on symmetric forms show at a state; norms of W_K and W_Q and the weight of [MASK] are
/// those of `symmetric`.
template <class T>
struct BlockReadings {
  using Scalar = T;
  T loss{}, norm_W_V{}, norm_W_K{}, norm_W_Q{};
  T attention_same_word{}, attention_same_topic{}, attention_other_topic{};
  T value_diagonal{}, value_same_topic{}, value_other_topic{};
  T alpha{}, beta{}, mask_weight{};
};

template <class T>
const std::vector<Observable<BlockReadings<T>>>& block_table() {
  using R = BlockReadings<T>;
  static const std::vector<Observable<R>> table{
      {{"loss", "`L`, without penalty", "squared: 1 at `W_V = 0`", "loss of a selected position"},
       &R::loss},
      {{"norm_W_V", "Frobenius norm of `W_V`", "`>= 0`", "rises first"}, &R::norm_W_V},
      {{"attention_same_word", "`alpha/M` at `x = 1`", "1: uniform",
        "attention per key over that of uniform attention, own word"},
       &R::attention_same_word},
      {{"attention_same_topic", "`beta/M`", "1: uniform; 0 if `v = 1`", "other words of the topic"},
       &R::attention_same_topic},
      {{"attention_other_topic", "`1/M`", "1: uniform; 0 if there are none",
        "attention per key on words of other topics"},
       &R::attention_other_topic},
      {{"value_diagonal", "`d`", "real", "mean of `W_ii`, `i >= 1`"}, &R::value_diagonal},
      {{"value_same_topic", "`s'`", "real; 0 if `v = 1`", "mean of `W_ij`, `i != j` of one topic"},
       &R::value_same_topic},
      {{"value_other_topic", "`u'`", "real", "mean of `W_ij`, `i`, `j` of different topics"},
       &R::value_other_topic},
      {{"alpha", "`exp(s_ii - s_ki)`, `k` of another topic", "`>= 0`, or `inf`",
        "weight of the own word, other topics 1"},
       &R::alpha},
      {{"beta", "`exp(s_ji - s_ki)`, `j != i` of the topic of `i`", "`>= 0`, or `inf`",
        "weight of other words of the topic"},
       &R::beta}};
  return table;
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

/// Weights of a query word's attention by kind of key, up to a factor: its own word, other words of
/// its topic, words of other topics, [MASK].
template <class T>
struct KeyWeights {
  T own, same;
  T other{1}, mask{1};
};

/// Attention over uniform attention on the same word, other words of the topic, other topics; for a
/// query whose topic is in the document. 0 for kinds that no document has (v = 1; tau = 1, p_r = 0).
template <class T>
std::array<T, 3> attention_by_kind(const TopicLaw<T>& law, const KeyWeights<T>& w) {
  const T v = TopicLaw<T>::number(law.words);
  const T pi = law.frequency(true);
  const T normaliser = w.own * pi + w.same * (v - T(1)) * pi + w.other * (T(1) - v * pi) +
                       (w.mask - w.other) * law.mask();
  const bool others = law.active > 1 || law.stray() > T(0);
  return {T(w.own / normaliser), law.words > 1 ? T(w.same / normaliser) : T(0),
          others ? T(w.other / normaliser) : T(0)};
}

/// The parts that both have, of W_V = x[0..3] and the weights of attention.
template <class T>
BlockReadings<T> read_blocks(const TopicLaw<T>& law, const Vector<T>& x, const T& loss,
                             const KeyWeights<T>& weights) {
  BlockReadings<T> read;
  read.loss = loss;
  read.norm_W_V = value_norm(law, x);
  const std::array<T, 3> attention = attention_by_kind(law, weights);
  read.attention_same_word = attention[0];
  read.attention_same_topic = attention[1];
  read.attention_other_topic = attention[2];
  read.value_diagonal = x[1];
  read.value_same_topic = law.words > 1 ? x[2] : T(0);
  read.value_other_topic = x[3];
  read.alpha = weights.own / weights.other;
  read.beta = weights.same / weights.other;
  read.mask_weight = weights.mask / weights.other;
  return read;
}

}  // namespace popgrad::topic
