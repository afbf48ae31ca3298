#include "io/config_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "popgrad/error.hpp"

namespace popgrad {

std::vector<std::pair<std::string, std::string>> parse_config(const std::string& text,
                                                              const std::string& file) {
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
  std::vector<std::pair<std::string, std::string>> entries;
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // section marks
    // A list such as mu = [1, 2] is what --mu 1,2 is on the command line.
    entries.emplace_back(item.name, fmt::format("{}", fmt::join(item.inputs, ",")));
  }
  return entries;
}

}  // namespace popgrad
