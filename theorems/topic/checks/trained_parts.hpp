#pragma once
/// Embeddings or attention trained alone, and both, against the losses of Bayes' rule.

#include <cstdint>

#include "popgrad/evidence/examination.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic::checks {

/// Attention alone: one-hot embeddings, the diagonal W_V, W_K and W_Q trained from entries
/// N(0, 0.01^2).
Training attention_alone(const TopicLaw<double>& law, std::uint64_t seed);
/// Both: the same start, W_E = I and W_V trained as well.
Training both_parts(const TopicLaw<double>& law, std::uint64_t seed);

/// Only embeddings, of `width` dimensions, by the flow: their loss against that of topics, inner
/// products by kind. `gap`: L_T - L_B, the gain from the token. Controls: token-used, tenth-more.
void judge_trained_embedding(const TopicLaw<double>& law, Index width, double gap,
                             std::uint64_t seed, Examination& it);
/// Attention alone, and both, by steps of Adam at 0.02 on the expected loss, 1500 to 48,000 of them,
/// until the loss is at rest: against the bound and the Bayes loss.
void judge_trained_attention(const TopicLaw<double>& law, double gap, std::uint64_t seed,
                             Examination& it);

}  // namespace popgrad::topic::checks
