#pragma once
/// Knobs that statements on scan and snap share.

#include "popgrad/knob.hpp"

namespace popgrad::theorems::scan_snap {

inline constexpr Knob class_count{.name = "classes",
                                  .meaning = "classes K",
                                  .low = 2,
                                  .high = 8,
                                  .usual = 4,
                                  .spacing = Spacing::whole};
inline constexpr Knob common_count{.name = "common-tokens",
                                   .meaning = "tokens that all classes have",
                                   .low = 1,
                                   .high = 3,
                                   .usual = 1,
                                   .spacing = Spacing::whole};
inline constexpr Knob distinct_count{.name = "distinct-tokens",
                                     .meaning = "distinct tokens a class",
                                     .low = 2,
                                     .high = 10,
                                     .usual = 5,
                                     .spacing = Spacing::whole};
inline constexpr Knob common_weight{
    .name = "common-weight",
    .meaning = "weight of a common token in units of a distinct one",
    .low = 0.1,
    .high = 10,
    .usual = 1,
    .spacing = Spacing::logarithmic};
inline constexpr Knob vocabulary{.name = "vocabulary",
                                 .meaning = "tokens M",
                                 .low = 90,
                                 .high = 1e5,
                                 .usual = 1000,
                                 .spacing = Spacing::logarithmic};
inline constexpr Knob rate_ratio{.name = "rate-ratio",
                                 .meaning = "eta_Y/eta_Z, eta_Y = 1",
                                 .low = 0.3,
                                 .high = 100,
                                 .usual = 2,
                                 .spacing = Spacing::logarithmic};

inline constexpr Knob horizon{.name = "time",
                              .meaning = "end of the trajectory, draws",
                              .low = 10,
                              .high = 3000,
                              .usual = 700,
                              .spacing = Spacing::logarithmic};

}  // namespace popgrad::theorems::scan_snap
