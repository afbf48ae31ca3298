#pragma once
/// TOML as a tree whose nodes have their places in the file. toml++ is compiled in its source only.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/base/error.hpp"

namespace popgrad {

/// Of a character (not a byte), both from 1.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};

struct TomlNode {
  enum class Kind { table, list, text, number, truth, other };
  Kind kind = Kind::table;
  std::string key;             ///< in the table that it stands in
  TextPlace key_place, place;  ///< of the key; of the value
  std::string text;  ///< a text; a number with its digits as written, without _; true or false
  std::vector<TomlNode> parts;  ///< of a table in the order of lines, of a list in its own

  [[nodiscard]] bool is(Kind other) const { return kind == other; }
  /// An entry of a table; nullptr if it has none of that key.
  [[nodiscard]] const TomlNode* find(std::string_view name) const;
  /// Of a character of `text` at this line and column, in the file; that of the value where escapes stand before it.
  [[nodiscard]] TextPlace place_in(TextPlace within) const;

  TextPlace content{0, 0};  ///< of the first character of a text without escapes; line 0: has some
};

/// What is not TOML: "FILE:LINE:COLUMN: is not TOML: REASON".
class TomlError : public InputError {
 public:
  TomlError(const std::string& file, TextPlace at, const std::string& reason);
  [[nodiscard]] TextPlace at() const { return at_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  TextPlace at_;
  std::string reason_;
};

/// The table of a whole file. Throws TomlError for what is not TOML 1.0, is not UTF-8, or is nested in more than 100
/// levels.
TomlNode parse_toml(const std::string& text, const std::string& file);

}  // namespace popgrad
