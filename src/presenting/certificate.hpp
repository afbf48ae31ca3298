#pragma once
/// A certificate of a global minimum as JSON, in exact fractions.

#include "base/json_fwd.hpp"
#include "theorems/topic/rungs/optimum.hpp"

namespace popgrad {

/// {"lower", "upper", "alpha", "beta", "box", "on_line", "minimisers", "boxes", "evidence",
/// "leaves"}: numbers as p/q, leaves as [path, "above" | "near"].
Json certificate_json(const topic::Certificate& certificate);

}  // namespace popgrad
