#pragma once
/// Moments of documents of N tokens, and the optimum of W_V under uniform attention that they make.

#include <vector>

#include "popgrad/quantity.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/topic/law.hpp"

namespace popgrad::theorems::topic {

/// E[p p'] and E[p e_w'] over selected positions of words w in documents with frequencies p.
struct DocumentMoments {
  Matrix<double> second, cross;
};
/// `inverse_length`: 1/N; 0: infinitely long.
DocumentMoments document_moments(const popgrad::topic::TopicLaw<double>& law,
                                 double inverse_length);

/// s = a/v + T b.
double law_sum(const popgrad::topic::TopicLaw<double>& law);

/// W = c' C^+, the optimum of least norm. Parts of all: rounding, from the condition of C on its
/// range.
struct LeastNorm {
  /// Own block sum less that of another topic, for every row and topic.
  std::vector<Quantity> gaps;
  std::vector<Quantity> masks;    ///< column 0, every row
  std::vector<Quantity> pulled;   ///< -(b/a + u_i s)/p0 with the u_i of the row's own block sum
  std::vector<Quantity> entries;  ///< of row 1: [MASK], its own word, another topic
};
LeastNorm least_norm(const popgrad::topic::TopicLaw<double>& law, double inverse_length);

/// Order in lambda of the distance of the penalised optimum to that of least norm, from penalties
/// far below the least nonzero eigenvalue of C. Part: next order.
Quantity order_in_penalty(const popgrad::topic::TopicLaw<Rational>& law);

}  // namespace popgrad::theorems::topic
