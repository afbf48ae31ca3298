#pragma once
/// What checks on sparse contextual bigrams use, and the knobs that they share.

#include "theorems/prelude.hpp"
#include "theorems/scb/checks/examples.hpp"
#include "theorems/scb/checks/given_training.hpp"
#include "theorems/scb/rungs/geometry.hpp"

namespace popgrad::scb::checks {

inline constexpr Knob tokens_knob = whole_knob("tokens", "tokens N of the vocabulary", 2, 6, 3);
inline constexpr Knob support_knob =
    whole_knob("support", "positions Q that a token attends to", 1, 4, 2);
inline constexpr Knob transition_size_knob =
    logarithmic_knob("transition-size", "size K_P of the transition matrix", 1e-3, 0.9, 0.09);
inline constexpr Knob context_size_knob =
    logarithmic_knob("context-size", "size K_Q of the context laws", 0.02, 1, 0.6);
/// The one number that `T large` is about.
inline constexpr Knob short_context =
    logarithmic_knob(
        "short-context",
        "1/(T sqrt(K_P K_Q)), the growth time over the length; 0: that of the other knobs", 1e-6, 1,
        0)
        .breaking("`T` large");

/// The length that `short_context` asks for; `otherwise` where it asks for none.
inline double length_at(double shortness, double growth, double otherwise) {
  return shortness > 0 ? 1 / (shortness * growth) : otherwise;
}

}  // namespace popgrad::scb::checks
