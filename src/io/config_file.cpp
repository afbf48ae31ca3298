#include "io/config_file.hpp"

#include <fmt/format.h>

#include "io/toml_tree.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad {
namespace config_file_cpp {
namespace {

using Kind = TomlNode::Kind;

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& file) : file_(file) {}

  [[nodiscard]] ConfigEntry entry(const TomlNode& node) const {
    ConfigEntry made;
    made.key = node.key;
    made.line = node.key_place.line;
    const bool tables =
        node.is(Kind::list) && !node.parts.empty() && node.parts.front().is(Kind::table);
    if (node.is(Kind::table) || tables) {
      refuse(made, "is a section; give its keys at the top of the file, without a heading");
    }
    if (node.is(Kind::list)) {
      made.kind = ConfigEntry::Kind::list;
      for (const TomlNode& part : node.parts) made.parts.push_back(part_of(made, part));
      const bool rows = !node.parts.empty() && node.parts.front().is(Kind::list);
      made.value = fmt::format("{}", fmt::join(made.parts, rows ? ";" : ","));
      return made;
    }
    if (node.is(Kind::truth)) made.kind = ConfigEntry::Kind::truth;
    made.value = scalar(made, node);
    return made;
  }

 private:
  [[noreturn]] void refuse(const ConfigEntry& at, const std::string& why) const {
    throw InputError(fmt::format("{}: line {}: {} {}", file_, at.line, at.key, why));
  }

  [[nodiscard]] std::string part_of(const ConfigEntry& at, const TomlNode& part) const {
    if (!part.is(Kind::list)) return scalar(at, part);
    std::vector<std::string> numbers;
    for (const TomlNode& number : part.parts) numbers.push_back(scalar(at, number));
    return fmt::format("{}", fmt::join(numbers, ","));
  }

  [[nodiscard]] std::string scalar(const ConfigEntry& at, const TomlNode& node) const {
    if (node.is(Kind::text) || node.is(Kind::truth) || node.is(Kind::number)) return node.text;
    refuse(at, "must be a number, a text, true, false, or a list of numbers or texts");
  }

  const std::string& file_;
};

}  // namespace
}  // namespace config_file_cpp

std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& file) {
  const config_file_cpp::ConfigReader reader(file);
  std::vector<ConfigEntry> entries;
  try {
    for (const TomlNode& node : parse_toml(text, file).parts) entries.push_back(reader.entry(node));
  } catch (const TomlError& error) {
    throw InputError(fmt::format("{}: line {}: is not TOML: column {}: {}", file, error.at().line,
                                 error.at().column, error.reason()));
  }
  return entries;
}

}  // namespace popgrad
