#pragma once
/// Files that are none: what a program that calls commands as functions holds in memory, under names
/// that stand where a path would.

#include <functional>
#include <map>
#include <string>

#include "base/bound.hpp"
#include "io/table.hpp"

namespace popgrad {

struct GivenFiles {
  std::map<std::string, std::string, std::less<>> texts;  ///< for `read_file`
  std::map<std::string, Table, std::less<>> tables;       ///< for `read_table`
};

/// Those that the caller of a command has bound.
inline const GivenFiles& given_files() { return Bound<GivenFiles>::get(); }

}  // namespace popgrad
