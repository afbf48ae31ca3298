#pragma once
/// What checks on scan and snap use, and the knobs that they share.

#include "theorems/prelude.hpp"
#include "theorems/scan_snap/checks/examples.hpp"
#include "theorems/scan_snap/checks/given_training.hpp"
#include "theorems/scan_snap/checks/measuring.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr Knob class_count = whole_knob("classes", "classes K", 2, 8, 4);
inline constexpr Knob common_count =
    whole_knob("common-tokens", "tokens that all classes have", 1, 3, 1);
inline constexpr Knob distinct_count =
    whole_knob("distinct-tokens", "distinct tokens a class", 2, 10, 5);
inline constexpr Knob common_weight = logarithmic_knob(
    "common-weight", "weight of a common token in units of a distinct one", 0.1, 10, 1);
inline constexpr Knob vocabulary = logarithmic_knob("vocabulary", "tokens M", 90, 1e5, 1000);
inline constexpr Knob rate_ratio =
    logarithmic_knob("rate-ratio", "eta_Y/eta_Z, eta_Y = 1", 0.3, 100, 2);

inline constexpr Knob horizon =
    logarithmic_knob("time", "end of the trajectory, draws", 10, 3000, 700);

}  // namespace popgrad::scan_snap::checks
