#pragma once
/// Optimal attention far out in tau, and where the theorem on it stops: documents of one topic,
/// tau = 1, and selected positions that never keep their word, p_c = 0.

#include <vector>

#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/rational.hpp"
#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic::checks {

/// The order in tau, from far out, of the mean weight g*/v of the topic for the minimum-norm W_V, or
/// of alpha* for the diagonal one; T/tau stays. Parts: next order, rounding.
Quantity order_in_active(const TopicLaw<Rational>& law, bool diagonal);

/// The order in T, from far out, of g*/v or alpha*; tau stays.
Quantity order_in_topics(const TopicLaw<Rational>& law, bool diagonal);

/// The order in p_c, towards 0, of g*/v - 1 for the minimum-norm W_V.
Quantity order_in_keeping(const TopicLaw<Rational>& law);

/// alpha* and beta* of the diagonal W_V at p_c = 0, all minimisers. Part: enclosure. Throws
/// std::domain_error if uniform attention is none, or if the loss is flat there.
std::vector<Quantity> minimisers_near_uniform(const TopicLaw<Rational>& law);

/// (alpha* + (v - 1) beta*)/v of the diagonal W_V, in 50 digits. Part: rounding.
Quantity mean_weight(const TopicLaw<Rational>& law);

}  // namespace popgrad::topic::checks
