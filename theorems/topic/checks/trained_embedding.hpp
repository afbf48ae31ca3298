#pragma once
/// Embeddings trained alone by the population flow, with W_V = I.

#include <cstdint>
#include <vector>

#include "popgrad/scalars/quantity.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

/// Standard deviation of the entries of W_E at the start, which are normal.
inline constexpr double embedding_start = 0.3;

struct TrainedEmbedding {
  /// Own block sum of E = W_E' W_E less that of another topic, for every row and topic. Parts:
  /// solver, rounding, and as the next order what the second half of the training changed.
  std::vector<Quantity> gaps;
  double excess = 0;   ///< of the loss over the least one
  double falling = 0;  ///< by how much the loss may have fallen in the second half
};
/// `entries`: size of the random entries of W_K and W_Q, one row each; 0: uniform attention.
TrainedEmbedding train_embedding(const TopicLaw<double>& law, Index width, double entries,
                                 std::uint64_t seed);

}  // namespace popgrad::topic::checks
