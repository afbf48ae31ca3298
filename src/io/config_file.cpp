#include "io/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "popgrad/base/error.hpp"
#include "popgrad/base/record.hpp"

// The library in this source only; it takes seconds to compile.
#define TOML_HEADER_ONLY 1
// Its assertions fail on texts that are no TOML, which it refuses a moment later.
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 100
#include <toml++/toml.h>

namespace popgrad {
namespace {

// toml++ 3.3 has undefined behaviour for letters that are not ASCII where it looks for white space, so it
// gets each of their bytes, and each %, as % and two digits.
std::string in_ascii(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    made += byte < 0x80 && c != '%' ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return made;
}

std::string from_ascii(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const end = text.data() + std::min(at + 3, text.size());
    if (text[at] == '%' &&
        std::from_chars(text.data() + at + 1, end, byte, 16).ptr == text.data() + at + 3) {
      made += static_cast<char>(byte);
      at += 2;
    } else {
      made += text[at];
    }
  }
  return made;
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& file) : file_(file) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  [[nodiscard]] ConfigEntry entry(const toml::key& key, const toml::node& node) const {
    ConfigEntry made;
    made.key = from_ascii(key.str());
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
    if (const auto* text = node.as_string()) return from_ascii(text->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    // With the digits of the file, which a double does not keep.
    if (node.is_floating_point()) return written(node.source());
    refuse(at, "must be a number, a text, true, false, or a list of numbers or texts");
  }

  [[nodiscard]] std::string written(const toml::source_region& place) const {
    std::string text = lines_.at(place.begin.line - 1)
                           .substr(place.begin.column - 1, place.end.column - place.begin.column);
    std::erase(text, '_');
    return text;
  }

  std::string file_;
  std::vector<std::string> lines_;
};

void check_utf8(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    try {
      static_cast<void>(json_text(line));
    } catch (const std::exception&) {
      throw InputError(fmt::format("{}: line {}: is not TOML: it is not UTF-8 text", file, number));
    }
  }
}

}  // namespace

std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& file) {
  check_utf8(text, file);
  const std::string ascii = in_ascii(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text);
  toml::table table;
  try {
    table = toml::parse(ascii, file);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}: line {}: is not TOML; give lines such as t1 = 10", file,
                                 error.source().begin.line));
  }
  const Reader reader(ascii, file);
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : table) entries.push_back(reader.entry(key, node));
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ConfigEntry& a, const ConfigEntry& b) { return a.line < b.line; });
  return entries;
}

}  // namespace popgrad
