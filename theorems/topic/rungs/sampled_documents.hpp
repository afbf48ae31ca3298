#pragma once
/// The covariance of the gradient of one document from documents that are drawn once and for all, where
/// their law is too wide to run through.
///
/// Two sets of 2000 documents that are independent of each other, labels of label noise included.
///
/// What the documents show is by how much Cov[g] differs from the covariance of their gradients to first
/// order, which is known exactly (linear_documents.hpp; a control variate).

#include <vector>

#include "popgrad/fluctuations/sampled_draws.hpp"
#include "theorems/topic/rungs/documents.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic {

class LinearDocuments;

class SampledDocuments {
 public:
  /// For exactly tau topics and N tokens. Cost: that of drawing them.
  explicit SampledDocuments(const Training& training);
  SampledDocuments(const SampledDocuments&) = delete;  // documents refer to the training
  SampledDocuments& operator=(const SampledDocuments&) = delete;

  /// Of matrices W_V (V x V) and logits (V x V) as one vector, V = T v + 1: covariance of their
  /// gradients times the columns (2 V^2 x m). Cost of a document: 6 V^2 m multiply-adds at most, or
  /// 4 V^4 where that is less; and that of LinearDocuments once.
  [[nodiscard]] Matrix<double> covariance(const Effective& now, const Matrix<double>& vectors,
                                          NodeSet nodes) const;

 private:
  struct Sampled {
    DocumentLoss document;
    std::size_t cls = 0;  // of the law
  };
  // Cov[g] - Cov[L] times the columns.
  [[nodiscard]] Matrix<double> difference_in_set(const Effective& now,
                                                 const LinearDocuments& linear,
                                                 const Matrix<double>& vectors,
                                                 const std::vector<Sampled>& documents) const;

  Training training_;
  DocumentLaw law_;
  std::vector<std::vector<Sampled>> sets_;
};

}  // namespace popgrad::topic
