#pragma once
/// Data law of the topic model: disjoint topics, infinitely long documents, masking.
///
/// T topics of v words each (words 1..Tv, [MASK] = 0). A document picks tau topics; every word is
/// uniform over their tau v words. A position is selected with p_m; a selected one keeps its word
/// with p_c, becomes a uniformly random word with p_r, [MASK] otherwise.
/// Source: Li, Li, Risteski, How Do Transformers Learn Topic Structure, arXiv 2303.04245,
/// Section 3. Only + - * /: every scalar.

#include <string>
#include <type_traits>
#include <vector>

#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::topic {

/// `Count` is a whole number; a fraction where T v is beyond int; a symbol where a limit in T, tau or
/// v is taken.
template <class T, class Count = Index>
struct TopicLaw {
  Count topics{10};  ///< T
  Count active{4};   ///< tau, topics of a document, 1 <= tau < T
  Count words{10};   ///< v, of a topic
  T masked{0};       ///< p_m, probability that a position is selected
  T correct{0};      ///< p_c, that a selected position keeps its word
  T random{0};       ///< p_r, that it becomes a random word

  [[nodiscard]] Count vocabulary() const { return topics * words + 1; }
  [[nodiscard]] Index topic_of(Index word) const { return (word - 1) / words; }

  /// a, the share of positions that keep their word other than by chance.
  [[nodiscard]] T kept() const { return T(1) - (T(1) - correct) * masked; }
  /// b, the frequency of a word of no topic of the document: pi_0.
  [[nodiscard]] T stray() const { return masked * random / number(topics * words); }
  /// p0, the frequency of [MASK].
  [[nodiscard]] T mask() const { return masked * hidden(); }
  /// 1 - p_c - p_r, share of selected positions that become [MASK].
  [[nodiscard]] T hidden() const { return T(1) - correct - random; }
  /// pi_x: the frequency of a word of a topic that is (x = 1) in the document, or not (x = 0).
  [[nodiscard]] T frequency(bool present) const {
    return present ? T(kept() / number(active * words) + stray()) : stray();
  }
  /// E[1_t] = tau/T.
  [[nodiscard]] T share() const { return number(active) / number(topics); }

  /// A count as a scalar.
  [[nodiscard]] static T number(const Count& count) {
    if constexpr (std::is_same_v<Count, Index>) {
      return T(static_cast<int>(count));
    } else {
      return T(count);
    }
  }
  template <class U>
  [[nodiscard]] TopicLaw<U> cast() const {
    return {topics, active, words, U(masked), U(correct), U(random)};
  }
};

/// A matrix W_V that permutations within and of topics leave unchanged: row 0 is 0.
template <class T>
struct BlockValue {
  T mask{0};      ///< w0, entries of column 0
  T diagonal{0};  ///< d
  T same{0};      ///< s', other words of the topic
  T other{0};     ///< u', words of other topics

  template <class U>
  [[nodiscard]] BlockValue<U> cast() const {
    return {U(mask), U(diagonal), U(same), U(other)};
  }
};

/// The whole matrix, (Tv + 1) x (Tv + 1).
template <class T>
Matrix<T> expand(const TopicLaw<T>& law, const BlockValue<T>& value) {
  const Index size = law.vocabulary();
  Matrix<T> whole = Matrix<T>::Constant(size, size, T(0));
  for (Index i = 1; i < size; ++i) {
    whole(i, 0) = value.mask;
    for (Index j = 1; j < size; ++j) {
      whole(i, j) = i == j                               ? value.diagonal
                    : law.topic_of(i) == law.topic_of(j) ? value.same
                                                         : value.other;
    }
  }
  return whole;
}

/// Words of a law whose counts scalars hold as int.
inline constexpr Index most_counted_words = 2'000'000'000;

/// From `T, tau, v, p_m, p_c, p_r`. Throws InputError for tau >= T, v < 1,
/// probabilities outside their range, and more than `most_words` words.
template <class T>
TopicLaw<T> topic_law(const Parameters& parameters, Index most_words = most_counted_words);

/// All tau-subsets of the topics, in lexicographic order: C(T, tau) rows of tau.
std::vector<std::vector<Index>> subsets(Index topics, Index active);
/// C(T, tau) as a double.
double subset_count(Index topics, Index active);

}  // namespace popgrad::topic
