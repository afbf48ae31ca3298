#pragma once
/// What checks on JoMA use, and the knobs that they share.

#include "theorems/joma/rungs/instance_record.hpp"
#include "theorems/joma/rungs/population_flow.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"
#include "theorems/prelude.hpp"

namespace popgrad::joma::checks {

inline constexpr Knob tau =
    logarithmic_knob("tau", "tau = 2 temperature^2 of the attention", 0.7, 8, 2);
inline constexpr Knob token_count = whole_knob("tokens", "contextual tokens M_C", 2, 10, 4);
inline constexpr Knob unit_count = whole_knob("units", "hidden units K", 1, 4, 2);

/// Streams of random instances, apart from those that instances of the library draw from.
inline constexpr std::uint32_t stream_of_drawn_instances = 0x10A1D5U;

}  // namespace popgrad::joma::checks
