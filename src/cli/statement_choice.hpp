#pragma once
#include <string>
#include <vector>

#include "popgrad/statement.hpp"

namespace popgrad::cli {

/// Statements whose id matches any of the patterns (`joma.*`), in the order of the list; all of
/// them if there is no pattern. InputError, in the name of `command`, for a pattern
/// that matches none.
std::vector<const Statement*> matching_statements(const std::string& command,
                                                  const std::vector<std::string>& patterns);

}  // namespace popgrad::cli
