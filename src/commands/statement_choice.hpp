#pragma once
#include <string>
#include <vector>

#include "popgrad/evidence/theory.hpp"

namespace popgrad::cli {

/// Statements of the theories whose id matches any of the patterns (`joma.*`), in the order of the
/// list; all of them if there is no pattern. InputError, in the name of `command`, for a pattern that
/// matches none.
std::vector<const Statement*> matching_statements(Theories theories, const std::string& command,
                                                  const std::vector<std::string>& patterns);

/// Whether the id of a statement is the pattern, or of its form.
bool matches(const std::string& pattern, const std::string& id);

}  // namespace popgrad::cli
