#pragma once
#include <string>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

/// How far inside of what is allowed each piece of evidence lies, and how far outside the evidence
/// against each control does, on one logarithmic axis: dots with words beside them, as HTML with
/// inline SVG. Empty where nothing was judged.
std::string margin_picture(const Finding& finding);

}  // namespace popgrad
