#pragma once
/// Knobs that several statements on sparse contextual bigrams share.

#include "popgrad/statement.hpp"

namespace popgrad::theorems::scb {

inline constexpr Knob tokens{.name = "tokens",
                             .meaning = "tokens N of the vocabulary",
                             .low = 2,
                             .high = 6,
                             .usual = 3,
                             .spacing = Spacing::whole};
inline constexpr Knob support_knob{.name = "support",
                                   .meaning = "positions Q that a token looks at",
                                   .low = 1,
                                   .high = 4,
                                   .usual = 2,
                                   .spacing = Spacing::whole};
inline constexpr Knob transition_size_knob{.name = "transition-size",
                                           .meaning = "size K_P of the transition matrix",
                                           .low = 1e-3,
                                           .high = 0.9,
                                           .usual = 0.09,
                                           .spacing = Spacing::logarithmic};
inline constexpr Knob context_size_knob{.name = "context-size",
                                        .meaning = "size K_Q of the context laws",
                                        .low = 0.02,
                                        .high = 1,
                                        .usual = 0.6,
                                        .spacing = Spacing::logarithmic};
/// The one number that `T large` is about.
inline constexpr Knob short_context{
    .name = "short-context",
    .meaning = "1/(T sqrt(K_P K_Q)), the growth time over the length; 0: that of the other knobs",
    .low = 1e-6,
    .high = 1,
    .usual = 0,
    .spacing = Spacing::logarithmic,
    .breaks = "T large"};

/// The length that `short_context` asks for; `otherwise` where it asks for none.
inline double length_at(double shortness, double growth, double otherwise) {
  return shortness > 0 ? 1 / (shortness * growth) : otherwise;
}

}  // namespace popgrad::theorems::scb
