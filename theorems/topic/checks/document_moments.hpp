#pragma once
/// The optimum of W_V under uniform attention that moments of documents of N tokens make.

#include <vector>

#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

/// s = a/v + T b.
template <class T>
T law_sum(const TopicLaw<T>& law) {
  const auto number = TopicLaw<T>::number;
  return law.kept() / number(law.words) + number(law.topics) * law.stray();
}

/// W = c' C^+, the optimum of least norm, with C = E[p p'] and c = E[p e_w'] over selected positions of
/// words w in documents with frequencies p. Parts of all: rounding, from the condition of C on its
/// range.
struct LeastNorm {
  /// Own block sum less that of another topic, for every row and topic.
  std::vector<Quantity> gaps;
  std::vector<Quantity> masks;    ///< column 0, every row
  std::vector<Quantity> pulled;   ///< -(b/a + u_i s)/p0 with the u_i of the row's own block sum
  std::vector<Quantity> entries;  ///< of row 1: [MASK], its own word, another topic
};
/// `inverse_length`: 1/N; 0: infinitely long. For double and for Real.
template <class T>
LeastNorm least_norm(const TopicLaw<T>& law, double inverse_length);

/// Order in lambda of the distance of the penalised optimum to that of least norm, from penalties
/// far below the least nonzero eigenvalue of C. Part: next order.
Quantity order_in_penalty(const TopicLaw<Rational>& law);

}  // namespace popgrad::topic::checks
