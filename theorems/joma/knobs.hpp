#pragma once
/// Knobs and bounds that statements on JoMA share.

#include <algorithm>

#include "popgrad/statement.hpp"

namespace popgrad::theorems::joma {

inline constexpr Knob tau{.name = "tau",
                          .meaning = "tau = 2 temperature^2 of the attention",
                          .low = 0.7,
                          .high = 8,
                          .usual = 2,
                          .spacing = Spacing::logarithmic};
inline constexpr Knob token_count{.name = "tokens",
                                  .meaning = "contextual tokens M_C",
                                  .low = 2,
                                  .high = 10,
                                  .usual = 4,
                                  .spacing = Spacing::whole};
inline constexpr Knob unit_count{.name = "units",
                                 .meaning = "hidden units K",
                                 .low = 1,
                                 .high = 4,
                                 .usual = 2,
                                 .spacing = Spacing::whole};

/// Bound of an equality that is measured in the unit of `size`: `bound`, or the slack's share of
/// the size where that is larger.
inline double allowance(const Setting& setting, double bound, double size) {
  return std::max(bound, setting.slack * size);
}

/// Streams of random instances, apart from those that instances of the library draw from.
inline constexpr std::uint32_t stream_of_drawn_instances = 0x10A1D5U;

}  // namespace popgrad::theorems::joma
