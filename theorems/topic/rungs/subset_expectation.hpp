#pragma once
/// Loss per selected position on infinitely long documents, and its gradient, exact over all
/// C(T, tau) subsets of topics. Both losses are linear in the target e_w, so that label noise
/// (Training) has (1 - label_noise) e_w + label_noise 1/(T v) over all words in its place, exactly.
///
/// For one query, outputs are sums of T + 1 vectors over a scalar, so the squared loss of a subset
/// needs their products alone: tau^2 numbers, whatever the vocabulary is. Cost of an evaluation:
///   squared loss             O((Tv)^3) in matrix products and O(Tv (C(T, tau) tau^2 + T^2 Tv))
///   cross entropy, `plain`   O(C(T, tau) tau (Tv)^2)
/// Memory O(T (Tv)^2).

#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

/// Attention per key of a kind over uniform attention, averaged over queries in documents
/// that have their topic.
struct AttentionByKind {
  double same_word = 0, same_topic = 0, other_topic = 0;
};

class SubsetExpectation {
 public:
  /// Throws InputError if there are more than 200 000 subsets.
  SubsetExpectation(const TopicLaw<double>& law, LossKind loss, bool plain = false,
                    double label_noise = 0);

  /// Both matrices (Tv + 1) square; gradients are set where pointers are given.
  double operator()(const Matrix<double>& value, const Matrix<double>& logits,
                    Matrix<double>* dvalue = nullptr, Matrix<double>* dlogits = nullptr) const;
  [[nodiscard]] AttentionByKind attention(const Matrix<double>& logits) const;

 private:
  TopicLaw<double> law_;
  LossKind loss_;
  bool plain_;
  double label_noise_;
  std::vector<Index> subsets_;  ///< tau numbers each
  std::vector<char> present_;   ///< T flags each
};

}  // namespace popgrad::topic
