#pragma once
#include <cmath>

#include "base/json.hpp"

namespace popgrad {

/// A number as JSON has it: null where it is not finite.
inline Json json_number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

}  // namespace popgrad
