#pragma once
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scb/rungs/parameters.hpp"

namespace popgrad::scb::figures {

/// Parameters of the data law drawn at these sizes, or the user's own.
inline std::vector<FigureParameter> data_law(const char* tokens, const char* context,
                                             const char* support) {
  namespace parameter = parameter;
  return {{parameter::N, tokens}, {parameter::T, context}, {parameter::Q, support},
          {parameter::P},         {parameter::mu},         {parameter::q}};
}

}  // namespace popgrad::scb::figures
