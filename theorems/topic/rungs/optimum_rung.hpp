#pragma once
/// Rung optimum: the best attention for a symmetric W_V, constant in t.
///
/// State: w0, d, s', u', then the weights of the own word, of the other words of its topic, and of all
/// others, up to a factor. The last is 1, or 0 where the loss is least in the limit of infinite
/// alpha and beta; the other two may be 0. Where the loss depends on alpha + (v - 1) beta only, the
/// point alpha = beta. Columns are those of block-reduced. Cost O(1).

#include "popgrad/rungs/rung_fwd.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic {

/// Throws InputError where all attention has the same loss, Failure where the minimum is not found to
/// all digits.
template <class T>
AnyRung<T> optimum_rung(const TopicLaw<T>& law, const BlockValue<T>& value);

}  // namespace popgrad::topic
