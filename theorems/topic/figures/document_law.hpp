#pragma once
#include <vector>

#include "popgrad/evidence/figure.hpp"

namespace popgrad::theorems::topic::figures {

/// Parameters of a law of documents.
inline std::vector<FigureParameter> document_law(const char* topics, const char* active,
                                                 const char* words) {
  return {{"T", topics}, {"tau", active}, {"v", words}, {"p_m"}, {"p_c"}, {"p_r"}};
}

}  // namespace popgrad::theorems::topic::figures
