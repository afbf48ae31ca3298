#pragma once
/// The size of the vocabulary that scan-snap's parameters mean.

#include "laws/cases.hpp"

namespace popgrad::laws {

/// M of an instance file, of Syn-Small (30), or of Syn-Medium: 10 common tokens, 10 of each of two
/// classes a query, the queries and the next tokens.
inline Index vocabulary_of(const Parameters& p) {
  if (p.text("preset", "") == "syn-medium") {
    const Index queries = p.count("n_last", 10, 1, 1000);
    return 10 + 20 * queries + queries + 2 * queries;
  }
  return p.count("M", p.has("P") ? p.matrix<double>("P").cols() : 30, 1, 1000);
}

}  // namespace popgrad::laws
