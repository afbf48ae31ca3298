#include "io/toml_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>

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
namespace toml_tree_cpp {
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

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

class Reader {
 public:
  explicit Reader(const std::string& ascii) {
    std::istringstream in(ascii);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  [[nodiscard]] TomlNode node(const toml::node& from) const {
    TomlNode made;
    const toml::source_region& region = from.source();
    made.place = place(region.begin);
    if (const toml::table* table = from.as_table()) {
      for (const auto& [key, value] : *table) {
        made.parts.push_back(node(value));
        made.parts.back().key = from_ascii(key.str());
        made.parts.back().key_place = place(key.source().begin);
      }
      std::ranges::stable_sort(made.parts, {}, [](const TomlNode& part) {
        return std::pair(part.key_place.line, part.key_place.column);
      });
    } else if (const toml::array* list = from.as_array()) {
      made.kind = TomlNode::Kind::list;
      for (const toml::node& part : *list) made.parts.push_back(node(part));
    } else if (const auto* text = from.as_string()) {
      made.kind = TomlNode::Kind::text;
      made.text = from_ascii(text->get());
      made.content = content(region, text->get());
    } else if (const auto* truth = from.as_boolean()) {
      made.kind = TomlNode::Kind::truth;
      made.text = truth->get() ? "true" : "false";
    } else if (const auto* whole = from.as_integer()) {
      made.kind = TomlNode::Kind::number;
      made.text = std::to_string(whole->get());
    } else if (from.is_floating_point()) {
      // With the digits of the file, which a double does not keep.
      made.kind = TomlNode::Kind::number;
      made.text = lines_.at(region.begin.line - 1)
                      .substr(region.begin.column - 1, region.end.column - region.begin.column);
      std::erase(made.text, '_');
    } else {
      made.kind = TomlNode::Kind::other;
    }
    return made;
  }

  [[nodiscard]] TextPlace place(const toml::source_position& at) const {
    if (at.line == 0 || at.line > lines_.size()) return {};
    const std::string_view line = lines_[at.line - 1];
    return {at.line, characters(from_ascii(line.substr(0, at.column - 1))) + 1};
  }

 private:
  // Where the first character of a text stands, if all of it stands in the file as it is.
  [[nodiscard]] TextPlace content(const toml::source_region& region,
                                  const std::string& text) const {
    if (region.begin.line == 0 || region.begin.line > lines_.size()) return {0, 0};
    const std::string_view line = lines_[region.begin.line - 1];
    toml::source_position at = region.begin;
    const std::string_view from = line.substr(std::min<std::size_t>(at.column - 1, line.size()));
    const bool tripled = from.starts_with("\"\"\"") || from.starts_with("'''");
    const std::size_t quotes = tripled ? 3 : 1;
    at.column += static_cast<toml::source_index>(quotes);
    if (from.size() <= quotes && tripled)
      at = {at.line + 1, 1};  // a first line break is none of the text
    std::istringstream in(text);
    std::size_t k = at.line - 1, skipped = at.column - 1;
    for (std::string own; std::getline(in, own); ++k, skipped = 0) {
      if (k >= lines_.size() || lines_[k].size() < skipped) return {0, 0};
      if (!std::string_view(lines_[k]).substr(skipped).starts_with(own)) return {0, 0};
    }
    return place(at);
  }

  std::vector<std::string> lines_;
};

// In our words, by those of the library.
std::string reason_of(std::string_view description) {
  const auto has = [&](std::string_view part) { return description.find(part) != part.npos; };
  if (has("cannot redefine")) {
    const std::size_t begin = std::min(description.find('\''), description.size());
    const std::size_t end = std::min(description.find('\'', begin + 1), description.size());
    return fmt::format("{} is there already; leave one out",
                       description.substr(begin, end - begin + 1));
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> reasons{
      {{"dangling comma", "a , stands before the }; leave it out"},
       {"expected '='", "a = is missing"},
       {"expected ']'", "a ] is missing"},
       {"closing ']'", "a , or ] is missing"},
       {"closing '}'", "a , or } is missing"},
       {"control characters", "a quote is missing at the end of a text"},
       {"in 64 bits", "a whole number is beyond 64 bits; write it as in 1e20"},
       {"value type", "is no number, and a text stands between quotes"},
       {"expected value", "a value is missing"},
       {"a comment or whitespace", "something follows the end of an entry; give one a line"}}};
  for (const auto& [part, reason] : reasons) {
    if (has(part)) return std::string(reason);
  }
  return "give lines such as t1 = 10";
}

void check_utf8(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    try {
      static_cast<void>(json_text(line));
    } catch (const std::exception&) {
      throw TomlError(file, {number, 1}, "it is not UTF-8 text");
    }
  }
}

}  // namespace
}  // namespace toml_tree_cpp

TomlError::TomlError(const std::string& file, TextPlace at, const std::string& reason)
    : InputError(fmt::format("{}:{}:{}: is not TOML: {}", file, at.line, at.column, reason)),
      at_(at),
      reason_(reason) {}

const TomlNode* TomlNode::find(std::string_view name) const {
  const auto found = std::ranges::find(parts, name, &TomlNode::key);
  return found == parts.end() || kind != Kind::table ? nullptr : &*found;
}

TextPlace TomlNode::place_in(TextPlace within) const {
  if (content.line == 0) return place;
  if (within.line == 1) return {content.line, content.column + within.column - 1};
  return {content.line + within.line - 1, within.column};
}

TomlNode parse_toml(const std::string& text, const std::string& file) {
  using namespace toml_tree_cpp;
  check_utf8(text, file);
  const std::string ascii = in_ascii(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text);
  try {
    const toml::table table = toml::parse(ascii, file);
    return Reader(ascii).node(table);
  } catch (const toml::parse_error& error) {
    const TextPlace at = Reader(ascii).place(error.source().begin);
    throw TomlError(file, {error.source().begin.line, at.column},
                    reason_of(from_ascii(error.description())));
  }
}

}  // namespace popgrad
