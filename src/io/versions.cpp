#include "io/versions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/made_with.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {

Versions this_version() { return {program_version()}; }

Versions united(Versions a, const Versions& b) {
  for (const std::string& version : b) {
    if (std::find(a.begin(), a.end(), version) == a.end()) a.push_back(version);
  }
  return a;
}

void check_versions(std::string_view where, std::string_view option, const std::string& file,
                    const Versions& versions, const Versions& own, bool same_results) {
  if (same_results || united(own, versions) == own) return;
  reject(where, option, file,
         fmt::format("was made by popgrad {}, and this is {}; give --same-results if both compute "
                     "the same, or begin anew under another name",
                     fmt::join(versions, ", "), fmt::join(own, ", ")));
}

}  // namespace popgrad
