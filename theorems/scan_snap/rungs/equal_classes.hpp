#pragma once
/// What the rungs that sum the decoder up by one number h need of the classes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "popgrad/base/error.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap {

/// Throws InputError unless classes are equally likely and have next tokens of their own: h(t/K) is
/// the same for every class only then. Symbols are taken to be so.
template <class T>
void require_equal_classes(const SequenceClasses<T>& classes, std::string_view where) {
  if constexpr (Ordered<T>) {
    constexpr double tolerance = 1e-9;
    const double share = 1 / static_cast<double>(classes.classes());
    for (Index n = 0; n < classes.classes(); ++n) {
      const double weight = to_double(classes.weight[n]);
      if (std::fabs(weight - share) <= tolerance) continue;
      reject(
          where, "class_law", fmt::format("with {:.6g} for class {}", weight, n),
          fmt::format("must be 1/K = {:.6g} for every class, whose decoder is one number h(t/K); "
                      "use the rung 'fast-decoder'",
                      share));
    }
    std::vector<Index> next = classes.next;
    std::sort(next.begin(), next.end());
    const auto repeated = std::adjacent_find(next.begin(), next.end());
    if (repeated != next.end()) {
      reject(where, "next", fmt::format("with token {} for several classes", *repeated),
             "must be a token of its own for every class, whose decoder is one number h(t/K); use "
             "the rung 'fast-decoder'");
    }
  }
}

}  // namespace popgrad::scan_snap
