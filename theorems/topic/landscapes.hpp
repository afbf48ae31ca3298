#pragma once
/// What `popgrad landscape topic` shows.

#include <vector>

#include "popgrad/evidence/landscape.hpp"

namespace popgrad::topic {

std::vector<LossLandscape> landscapes();

}  // namespace popgrad::topic
