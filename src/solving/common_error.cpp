#include "solving/common_error.hpp"

#include <algorithm>

namespace popgrad {

std::vector<Quantity> with_common_error(const std::vector<Quantity>& components) {
  std::vector<ErrorPart> largest;
  for (const Quantity& component : components) {
    for (const ErrorPart& part : component.parts()) {
      const auto known = std::find_if(largest.begin(), largest.end(), [&](const ErrorPart& own) {
        return own.name() == part.name();
      });
      if (known == largest.end()) {
        largest.push_back(part);
      } else if (part.size() > known->size()) {
        *known = part;
      }
    }
  }
  std::vector<Quantity> common;
  common.reserve(components.size());
  for (const Quantity& component : components) common.emplace_back(component.value(), largest);
  return common;
}

}  // namespace popgrad
