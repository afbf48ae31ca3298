#pragma once
/// What theories hold, as `popgrad list` tells it: models with rungs, columns, parameters and
/// regimes, statements with hypotheses, controls and knobs, and figures.

#include <string>

#include "popgrad/theory.hpp"

namespace popgrad {

std::string catalogue_text(Theories theories);
/// {"version", "models": [{"name", "paper", "rungs", "parameters", "regimes", "statements",
/// "figures", "errata"}]}.
std::string catalogue_json(Theories theories);

}  // namespace popgrad
