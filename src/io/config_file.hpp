#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace popgrad {

/// A key of a TOML file with its value as it is given on a command line.
struct ConfigEntry {
  enum class Kind { truth, text, list };  ///< true or false; a number or a string; an array
  std::string key;
  Kind kind = Kind::text;
  std::string value;               ///< digits as written; a list by commas, a list of lists by `;`
  std::vector<std::string> parts;  ///< of a list
  std::size_t line = 0;            ///< that the key is on, from 1
};

/// In the order of lines. InputError, naming file and line, for what is not TOML and for sections, dates
/// and lists in lists of lists.
std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& file);

}  // namespace popgrad
