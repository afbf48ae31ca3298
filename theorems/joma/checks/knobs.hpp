#pragma once
/// Knobs that statements on JoMA share.

#include "popgrad/evidence/statement.hpp"

namespace popgrad::theorems::joma {

inline constexpr Knob tau =
    logarithmic_knob("tau", "tau = 2 temperature^2 of the attention", 0.7, 8, 2);
inline constexpr Knob token_count = whole_knob("tokens", "contextual tokens M_C", 2, 10, 4);
inline constexpr Knob unit_count = whole_knob("units", "hidden units K", 1, 4, 2);

/// Streams of random instances, apart from those that instances of the library draw from.
inline constexpr std::uint32_t stream_of_drawn_instances = 0x10A1D5U;

}  // namespace popgrad::theorems::joma
