#pragma once
/// Formulas in NumPy's notation as they are written: the tree of a text, every node with its place.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/base/error.hpp"

namespace popgrad::formulas {

/// Of a character, both from 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
  bool operator==(const Place&) const = default;
};

/// Bad input within a formula: `line 1, column 7: REASON`.
class FormulaError : public InputError {
 public:
  FormulaError(Place place, std::string_view reason);
  [[nodiscard]] Place place() const { return place_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  Place place_;
  std::string reason_;
};

namespace syntax {

enum class Kind {
  number,     ///< text: a decimal as written, without underscores; whole without point and exponent
  string,     ///< text: what stands between the quotes
  name,       ///< text: the name
  tuple,      ///< parts: the entries
  list,       ///< parts: the entries
  unary,      ///< text: - or +; parts: the operand
  binary,     ///< text: + - * / // % @ ** < <= > >= == !=; parts: left, right
  attribute,  ///< text: what follows the point, as T; parts: the object
  subscript,  ///< parts: the object, then for every axis a formula, slice or new_axis
  slice,      ///< parts: begin, end, step; `absent` where it is not written
  new_axis,   ///< None or newaxis
  call,       ///< text: the function; parts: the arguments, of which the last ones have `keywords`
};

/// A part of a slice that is not written.
inline constexpr std::size_t absent = static_cast<std::size_t>(-1);

struct Node {
  Kind kind = Kind::number;
  Place place;  ///< of its first character; of a binary node its operator
  std::string text;
  std::vector<std::size_t> parts;     ///< numbers of nodes before this one
  std::vector<std::string> keywords;  ///< of the last arguments of a call, such as axis
  bool operator==(const Node&) const = default;
};

/// Parts stand before what they are parts of, so a loop visits all without recursion; the last is the whole.
struct Tree {
  std::vector<Node> nodes;
  [[nodiscard]] const Node& root() const { return nodes.back(); }
};

/// No path from the root is longer.
inline constexpr std::size_t deepest_tree = 1000;

/// Whether it may stand without backticks: letters, digits and _, and no word of Python.
bool is_plain_name(std::string_view name);

/// The tree of a formula that begins at `start` of its file. `names` are read as names wherever they stand,
/// the longest first, with any characters; other such names stand between backticks.
/// Throws FormulaError with what would do.
Tree parse(std::string_view text, std::span<const std::string> names = {}, Place start = {});

}  // namespace syntax

}  // namespace popgrad::formulas
