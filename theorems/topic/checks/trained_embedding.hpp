#pragma once
/// Embeddings trained by themselves by the population flow, with W_V = I.

#include <cstdint>
#include <vector>

#include "popgrad/scalars/quantity.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

/// Usual standard deviation of the entries of W_E at the start, which are normal.
inline constexpr double embedding_start = 0.3;

struct TrainedEmbedding {
  /// Own block sum of E = W_E' W_E less that of another topic, for every row and topic. Parts:
  /// solver, rounding, and as the next order what the second half of the training changed.
  std::vector<Quantity> gaps;
  /// Mean over words of their E with another word of the topic less that with words of other topics,
  /// the own word not counted; the parts of `gaps`. 0 where v = 1.
  Quantity others;
  double excess = 0;   ///< of the loss over the least one
  double falling = 0;  ///< by how much the loss may have fallen in the second half
};
/// `entries`: size of the random entries of W_K and W_Q, one row each; 0: uniform attention. `start`:
/// standard deviation of the entries of W_E at first.
TrainedEmbedding train_embedding(const TopicLaw<double>& law, Index width, double entries,
                                 std::uint64_t seed, double start = embedding_start);
/// What of E_ii the start may leave above its mean over the topic, on average over words: the flow lets
/// W_E u of no difference u of words of one topic grow, whose documents look alike, so that at most
///   sum of |W_E u|^2 over an orthonormal basis of these u, over T v,
/// as at the start.
double kept_of_start(const TopicLaw<double>& law, Index width, std::uint64_t seed, double start);

}  // namespace popgrad::topic::checks
