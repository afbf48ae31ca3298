#pragma once
/// The covariance of the gradient of one document from documents that are drawn once and for all, where
/// their law is too wide to run through.
///
/// Two sets of some 2000 documents that are independent of each other. The law is the same whatever
/// the topics and words are called: every drawn document stands there once for each topic that its
/// first may become,
///   word r of topic t -> word r + s (mod v) of topic t + s (mod T),  s = 0 .. T - 1
/// so that no topic is more frequent than another. Labels of label noise are drawn as well.

#include <vector>

#include "popgrad/sampled_draws.hpp"
#include "popgrad/topic/documents.hpp"
#include "popgrad/topic/training.hpp"

namespace popgrad::topic {

class SampledDocuments {
 public:
  /// For exactly tau topics and N tokens. Cost: a document drawn for every T of them.
  explicit SampledDocuments(const Training& training);
  SampledDocuments(const SampledDocuments&) = delete;  // documents refer to the training
  SampledDocuments& operator=(const SampledDocuments&) = delete;

  /// Of matrices W_V (V x V) and logits (V x V) as one vector, V = T v + 1: covariance of their
  /// gradients times the columns (2 V^2 x m). Cost of a document: 4 V N' m multiply-adds, N' its
  /// different words, or V^4 where that is less.
  [[nodiscard]] Matrix<double> covariance(const Effective& now, const Matrix<double>& vectors,
                                          SampledDraws::Part part) const;

 private:
  [[nodiscard]] Matrix<double> covariance_of_set(const Effective& now,
                                                 const Matrix<double>& vectors,
                                                 std::size_t set) const;

  Training training_;
  std::vector<std::vector<DocumentLoss>> sets_;
};

}  // namespace popgrad::topic
