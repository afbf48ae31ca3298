#include "io/config_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "popgrad/error.hpp"

namespace popgrad {

namespace {

// CLI11 does not tell on which line it found a key: the first after `from` that begins with it.
std::size_t line_of(const std::vector<std::string>& lines, const std::string& key,
                    std::size_t from) {
  for (std::size_t k = from; k < lines.size(); ++k) {
    const std::size_t begin = lines[k].find_first_not_of(" \t");
    if (begin != std::string::npos && lines[k].compare(begin, key.size(), key) == 0) return k + 1;
  }
  return 0;
}

}  // namespace

std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(in);
  } catch (const std::exception& error) {
    // The parser's own words may hold a line of the file, or several.
    std::string reason = error.what();
    reason = reason.substr(0, reason.find('\n'));
    throw InputError(fmt::format("{}: {}; give lines such as t1 = 10", file, reason));
  }
  std::vector<std::string> lines;
  std::istringstream again(text);
  for (std::string line; std::getline(again, line);) lines.push_back(line);
  std::size_t seen = 0;
  std::vector<ConfigEntry> entries;
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // section marks
    // A list such as mu = [1, 2] is what --mu 1,2 is on the command line.
    const std::size_t line = line_of(lines, item.name, seen);
    if (line > 0) seen = line;
    entries.push_back({item.name, fmt::format("{}", fmt::join(item.inputs, ",")), line});
  }
  return entries;
}

}  // namespace popgrad
