#pragma once
/// A certificate of a global minimum as JSON, in exact fractions.

#include "popgrad/json_fwd.hpp"
#include "popgrad/topic/optimum.hpp"

namespace popgrad {

/// {"lower", "upper", "alpha", "beta", "box", "on_line", "minimisers", "boxes", "evidence",
/// "leaves"}: numbers as p/q, leaves as [path, "above" | "near"].
Json certificate_json(const topic::Certificate& certificate);

}  // namespace popgrad
