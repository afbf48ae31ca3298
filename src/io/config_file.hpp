#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace popgrad {

/// A key of a TOML file with its value as it is given on a command line (a list by commas).
struct ConfigEntry {
  std::string key, value;
  std::size_t line = 0;  ///< that the key is on, from 1; 0 if it was not found as it stands
};

/// In order. InputError, naming the file, for anything else than lines `key = value` and sections.
std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& file);

}  // namespace popgrad
