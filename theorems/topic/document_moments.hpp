#pragma once
/// Moments of documents of N tokens, and the optimum of W_V under uniform attention that they make.

#include "popgrad/quantity.hpp"
#include "popgrad/topic/law.hpp"

namespace popgrad::theorems::topic {

/// E[p p'] and E[p e_w'] over selected positions of words w in documents with frequencies p.
struct DocumentMoments {
  Matrix<double> second, cross;
};
/// `inverse_length`: 1/N; 0: infinitely long.
DocumentMoments document_moments(const popgrad::topic::TopicLaw<double>& law,
                                 double inverse_length);

/// W = c' C^+, the optimum of least norm.
struct LeastNorm {
  Matrix<double> value;
  ErrorPart rounding;  ///< of an entry: from the condition of C on its range
};
/// `rank` of C.
LeastNorm least_norm(const DocumentMoments& moments, Index rank);

}  // namespace popgrad::theorems::topic
