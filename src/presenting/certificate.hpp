#pragma once
/// A certificate of a global minimum as JSON, in exact fractions.

#include "base/json_fwd.hpp"
#include "popgrad/evidence/landscape.hpp"

namespace popgrad {

/// {"lower", "upper", X, Y, "box", "on_line", "minimisers", "boxes", "evidence", "leaves"}, X and Y the
/// names of the coordinates: numbers as p/q, leaves as [path, "above" | "near"].
Json certificate_json(const LossLandscape& landscape, const LandscapeCertificate& certificate);

}  // namespace popgrad
