#include "io/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "popgrad/error.hpp"

// The library in this source only; it takes seconds to compile.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 100
#include <toml++/toml.h>

namespace popgrad {
namespace {

constexpr std::size_t most_shown = 40;  // characters of a heading

class Reader {
 public:
  Reader(const std::string& text, const std::string& file) : file_(file) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  [[nodiscard]] ConfigEntry entry(const toml::key& key, const toml::node& node) const {
    ConfigEntry made;
    made.key = key.str();
    made.line = key.source().begin.line;
    if (node.is_table() || node.is_array_of_tables()) {
      refuse(made, "is a section; give its keys at the top of the file, without a heading");
    }
    if (const toml::array* list = node.as_array()) {
      made.kind = ConfigEntry::Kind::list;
      for (const toml::node& part : *list) made.parts.push_back(part_of(made, part));
      const bool rows = !list->empty() && list->front().is_array();
      made.value = fmt::format("{}", fmt::join(made.parts, rows ? ";" : ","));
      return made;
    }
    if (node.is_boolean()) made.kind = ConfigEntry::Kind::truth;
    made.value = scalar(made, node);
    return made;
  }

 private:
  [[noreturn]] void refuse(const ConfigEntry& at, const std::string& why) const {
    throw InputError(fmt::format("{}: line {}: {} {}", file_, at.line, at.key, why));
  }

  std::string part_of(const ConfigEntry& at, const toml::node& part) const {
    const toml::array* row = part.as_array();
    if (row == nullptr) return scalar(at, part);
    std::vector<std::string> numbers;
    for (const toml::node& number : *row) numbers.push_back(scalar(at, number));
    return fmt::format("{}", fmt::join(numbers, ","));
  }

  std::string scalar(const ConfigEntry& at, const toml::node& node) const {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    // With the digits of the file, which a double does not keep.
    if (node.is_floating_point()) return written(node.source());
    refuse(at, "must be a number, a text, true, false, or a list of numbers or texts");
  }

  // Columns count characters, of which those before a number may have several bytes.
  [[nodiscard]] std::string written(const toml::source_region& place) const {
    const std::string& line = lines_.at(place.begin.line - 1);
    std::string text;
    std::size_t column = 0;
    for (const char c : line) {
      if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++column;
      if (column >= place.end.column) break;
      if (column >= place.begin.column && c != '_') text += c;
    }
    return text;
  }

  std::string file_;
  std::vector<std::string> lines_;
};

// Refuses what toml++ 3.3 has undefined behaviour or failing assertions for: letters that are not ASCII
// where it looks for white space, which TOML has in quotes and comments only, and headings of sections,
// which a configuration does not have.
void check_form(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t line = 1;
  int depth = 0;  // of brackets
  char quote = 0, before = 0;
  bool comment = false, blank = true;  // the line so far
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool plain = static_cast<unsigned char>(c) < 0x80;
    if (!plain && !comment && (quote == 0 || before == '\\')) {
      throw InputError(fmt::format(
          "{}: line {}: is not TOML: letters that are not ASCII stand in quotes or comments only",
          file, line));
    }
    if (c == '\n') {
      ++line;
      quote = 0;
      comment = false;
      blank = true;
    } else if (quote != 0) {
      if (c == quote && (quote == '\'' || before != '\\')) quote = 0;
    } else if (!comment) {
      if (c == '[' && blank && depth <= 0) {
        const std::string_view heading =
            text.substr(at, std::min(text.find_first_of("]#\r\n", at) - at, most_shown));
        throw InputError(
            fmt::format("{}: line {}: {}] is a section; give its keys at the top of the file, "
                        "without a heading",
                        file, line, heading));
      }
      if (c == '"' || c == '\'') quote = c;
      comment = c == '#';
      depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
      blank = blank && (c == ' ' || c == '\t');
    }
    before = before == '\\' && c == '\\' ? '\0' : c;
  }
}

}  // namespace

std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& file) {
  check_form(text, file);
  toml::table table;
  try {
    table = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}: line {}: is not TOML; give lines such as t1 = 10", file,
                                 error.source().begin.line));
  }
  const Reader reader(text, file);
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : table) entries.push_back(reader.entry(key, node));
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ConfigEntry& a, const ConfigEntry& b) { return a.line < b.line; });
  return entries;
}

}  // namespace popgrad
