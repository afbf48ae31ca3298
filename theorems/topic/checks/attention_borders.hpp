#pragma once
/// Where the theorem on optimal attention stops: documents of one topic, tau = 1, and selected
/// positions that never keep their word, p_c = 0.

#include "theorems/topic/checks/attention_weights.hpp"

namespace popgrad::topic::checks {

/// Each is 1 beyond its hypothesis.
inline constexpr Knob single_topic =
    whole_knob("single-topic", "1: documents of one topic", 1, 1, 0).breaking("tau >= 2");
inline constexpr Knob never_kept =
    whole_knob("never-kept", "1: no selected position keeps its word", 1, 1, 0).breaking("p_c > 0");

/// The law of the knobs or the user's, beyond its hypotheses where one of the two knobs says so.
TopicLaw<Rational> bordering_law(const Setting& setting);

/// That the loss falls in some direction from uniform attention: no where its gradient is 0.
void judge_uniform(const Landscape<Rational>& made, Examination& it);

/// Block-wise W_V: g* = v at tau = 1 and at p_c = 0, and the order of g*/v - 1 in p_c from there.
/// Controls: single, never-kept, vanishing.
void judge_block_borders(const TopicLaw<Rational>& law, Examination& it);

/// Diagonal W_V: alpha* = beta* = 1 at p_c = 0; at tau = 1 the mean weight of same-topic words, the
/// own word among them, is below 1. Control: never-kept.
void judge_diagonal_borders(const TopicLaw<Rational>& law, Examination& it);

/// (alpha* + (v - 1) beta*)/v of the diagonal W_V, in 50 digits. Part: rounding.
Quantity mean_weight(const TopicLaw<Rational>& law);

}  // namespace popgrad::topic::checks
