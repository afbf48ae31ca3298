#pragma once
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "theorems/topic/rungs/parameters.hpp"

namespace popgrad::topic::figures {

/// Parameters of a law of documents.
inline std::vector<FigureParameter> document_law(const char* topics, const char* active,
                                                 const char* words) {
  namespace parameter = parameter;
  return {{parameter::T, topics}, {parameter::tau, active}, {parameter::v, words},
          {parameter::p_m},       {parameter::p_c},         {parameter::p_r}};
}

}  // namespace popgrad::topic::figures
