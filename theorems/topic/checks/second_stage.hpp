#pragma once
/// Stage 2, attention trained on a frozen block-wise W_V: where it ends, predicted and followed.

#include "popgrad/scalars/quantity.hpp"
#include "theorems/topic/rungs/landscape.hpp"

namespace popgrad::topic::checks {

/// Attention that is alike on all words of the topic of the query: g = alpha + (v - 1) beta with
/// alpha = beta = g/v, the weight of [MASK] as a key of words, and the loss.
struct TopicAttention {
  Quantity sum;   ///< g; part enclosure: how it differs at the ends of that of `mask`
  Quantity mask;  ///< 1 where [MASK] weighs as much as words of other topics; part: enclosure
  double loss = 0;
};

/// Least loss over g only.
TopicAttention best_attention(const TopicLaw<double>& law, const BlockValue<double>& value);
/// Least loss over g and the weight of [MASK].
TopicAttention best_with_mask(const TopicLaw<double>& law, const BlockValue<double>& value);
/// Least loss over the weight of [MASK] only, at a g that stays.
TopicAttention best_mask_at(const TopicLaw<double>& law, const BlockValue<double>& value,
                            double sum);

/// The end of the restricted flow of logits (ln alpha, ln beta, 0), from uniform attention. Parts:
/// solver, and "next order": what the last of it changed, and what that leaves if it
/// goes on falling.
struct RestrictedEnd {
  Quantity loss, sum;
  /// At which g - `goal` falls where a thousandth of it is left; part "next order": how much it
  /// differs where a hundredth is left; part "enclosure": what rounding leaves open of `goal` and of
  /// the slope.
  Quantity rate;
};
RestrictedEnd restricted_end(const TopicLaw<double>& law, const BlockValue<double>& value,
                             double goal);

/// The end of the flow of W_K and W_Q on W_V among matrices that permutations of words leave unchanged:
/// in legs, moved by about a tenth in between so that no saddle holds it, until a
/// leg changes the loss by less than `settled` and the linear flow at its end would too. Part "next
/// order": also what the last leg changed, and what that linear flow would.
struct FreeEnd {
  Quantity loss;
  Quantity mask;  ///< weight of [MASK] over that of words of other topics, for words
  Quantity sum;   ///< g
};
FreeEnd free_end(const TopicLaw<double>& law, const BlockValue<double>& value, double start_size,
                 double settled);

}  // namespace popgrad::topic::checks
