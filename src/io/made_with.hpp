#pragma once
/// What made a verdict: popgrad with its commit, the compiler, and the libraries that compute.

#include <string>
#include <utility>
#include <vector>

namespace popgrad {

/// Name and version; the commit is left out where the sources were not a clone.
std::vector<std::pair<std::string, std::string>> versions();
/// popgrad's own, as results and what is kept of them state it.
std::string program_version();
/// A line each.
std::string version_text();

}  // namespace popgrad
