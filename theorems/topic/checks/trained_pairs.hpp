#pragma once
/// The paper's four settings of training on sampled documents, and what trained runs make of pairs
/// of words.

#include <string>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic::checks {

struct TrainedCase {
  std::string name;
  Training training;
  bool embedding = false;  ///< of inner products of embeddings, not of attention
};

/// W_V trained, frozen block-wise, frozen diagonal; embeddings alone. Law, loss, length of documents,
/// temperature, label noise and seed are those of `given`.
std::vector<TrainedCase> trained_cases(const Training& given);

/// Ends of runs of SGD with Adam.
struct TrainedPairs {
  /// Of the words (Tv square), a run: attention of column on row over its mean, or inner products.
  std::vector<Matrix<double>> runs;
  /// Logits of a query from least to largest, in the mean over queries and runs.
  double spread = 0;
};
TrainedPairs trained_pairs(const TrainedCase& one, std::uint64_t steps, const Setting& setting);

}  // namespace popgrad::topic::checks
