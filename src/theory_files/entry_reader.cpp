#include "theory_files/entry_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "popgrad/base/error.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::theory_files {

namespace entry_reader_cpp {
namespace {

// As the file has it, of a table or list only what it is.
std::string shown(const TomlNode& node) {
  constexpr std::size_t most = 40;
  if (node.is(TomlNode::Kind::text)) return fmt::format("\"{}\"", node.text.substr(0, most));
  return node.text.empty() ? name_of(node.kind) : node.text.substr(0, most);
}

}  // namespace
}  // namespace entry_reader_cpp

std::string name_of(TomlNode::Kind kind) {
  switch (kind) {
    case TomlNode::Kind::table:
      return "a table";
    case TomlNode::Kind::list:
      return "a list";
    case TomlNode::Kind::text:
      return "a text";
    case TomlNode::Kind::number:
      return "a number";
    case TomlNode::Kind::truth:
      return "true or false";
    case TomlNode::Kind::other:
      break;
  }
  return "a date";
}

void EntryReader::refuse(const TomlNode& at, const std::string& entry,
                         const std::string& reason) const {
  refuse(at.place, entry, reason);
}

void EntryReader::refuse_value(const TomlNode& at, const std::string& entry,
                               const std::string& rule) const {
  refuse(at, entry, fmt::format("{} {}", entry_reader_cpp::shown(at), rule));
}

void EntryReader::refuse(TextPlace at, const std::string& entry, const std::string& reason) const {
  throw InputError(fmt::format("{}:{}:{}: {}: {}", file_, at.line, at.column, entry, reason));
}

void EntryReader::check_keys(const TomlNode& table, const std::string& entry,
                             const std::vector<std::string>& known) const {
  for (const TomlNode& part : table.parts) {
    if (std::ranges::find(known, part.key) != known.end()) continue;
    const std::string what =
        entry.empty() ? "is no section" : fmt::format("has no key '{}'", part.key);
    const std::string near = suggestion(part.key, known);
    refuse(part.key_place, entry.empty() ? part.key : entry,
           what + (!near.empty()   ? near
                   : known.empty() ? "; there is none"
                                   : fmt::format("; there {} {}", known.size() == 1 ? "is" : "are",
                                                 fmt::join(known, ", "))));
  }
}

void EntryReader::each(const TomlNode& root, const char* section,
                       const std::function<void(const TomlNode&, const std::string&)>& read) const {
  const TomlNode* table = root.find(section);
  if (table == nullptr) return;
  require_kind(*table, section, TomlNode::Kind::table);
  for (const TomlNode& entry : table->parts) read(entry, fmt::format("{}.{}", section, entry.key));
}

void EntryReader::require_kind(const TomlNode& node, const std::string& entry,
                               TomlNode::Kind kind) const {
  if (!node.is(kind))
    refuse(node, entry, fmt::format("is {}; give {}", name_of(node.kind), name_of(kind)));
}

std::string EntryReader::text(const TomlNode& table, const char* key,
                              const std::string& entry) const {
  const TomlNode* node = table.find(key);
  if (node == nullptr) return {};
  require_kind(*node, fmt::format("{}.{}", entry, key), TomlNode::Kind::text);
  return node->text;
}

std::string EntryReader::formula(const TomlNode& node, const std::string& entry,
                                 const std::string& learned) {
  if (node.is(TomlNode::Kind::number)) {
    if (const auto why = refusal_of_number(node.text, {}))
      refuse(node, entry, node.text + " " + *why);
  } else if (!node.is(TomlNode::Kind::text)) {
    refuse(node, entry,
           fmt::format("is {}; give a formula between quotes or a number", name_of(node.kind)));
  }
  if (node.text.empty()) refuse(node, entry, "is empty; give a formula");
  keep_place(learned, entry, node);
  return node.text;
}

long EntryReader::whole(const TomlNode& node, const std::string& entry, long least) const {
  long value = 0;
  const std::string& digits = node.text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  constexpr long most = 1'000'000'000;
  if (!node.is(TomlNode::Kind::number) || error != std::errc{} ||
      end != digits.data() + digits.size() || value < least || value > most)
    refuse_value(node, entry, fmt::format("must be a whole number from {} to {}", least, most));
  return value;
}

double EntryReader::number(const TomlNode& node, const std::string& entry) const {
  if (!node.is(TomlNode::Kind::number)) refuse_value(node, entry, "must be a number");
  if (const auto why = refusal_of_number(node.text, {}))
    refuse(node, entry, node.text + " " + *why);
  const FractionText fraction = parse_number(node.text);
  return std::stod(fraction.numerator) / std::stod(fraction.denominator);
}

}  // namespace popgrad::theory_files
