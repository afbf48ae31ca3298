#pragma once
#include <string>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

/// How far off each piece of evidence is, in units of what is allowed, and the evidence against each
/// control, on one logarithmic axis: dots with names, as HTML with inline SVG. Empty where nothing was
/// judged.
std::string margin_picture(const Finding& finding);

}  // namespace popgrad
