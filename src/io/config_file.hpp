#pragma once
#include <string>
#include <utility>
#include <vector>

namespace popgrad {

/// Keys of a TOML file with their values as they are given on a command line (a list by commas), in
/// order. InputError, naming the file, for anything else than lines `key = value` and sections.
std::vector<std::pair<std::string, std::string>> parse_config(const std::string& text,
                                                              const std::string& file);

}  // namespace popgrad
