#pragma once
#include <vector>

#include "popgrad/evidence/figure.hpp"

namespace popgrad::theorems::scb::figures {

/// Parameters of the data law drawn at these sizes, or the user's own.
inline std::vector<FigureParameter> data_law(const char* tokens, const char* context,
                                             const char* support) {
  return {{"N", tokens}, {"T", context}, {"Q", support}, {"P"}, {"mu"}, {"q"}};
}

}  // namespace popgrad::theorems::scb::figures
