#pragma once
/// Names in a sentence.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

/// "flow, gd or sgd", with " or " before the last.
inline std::string listed(const std::vector<std::string>& names, std::string_view before_last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? before_last : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace popgrad
