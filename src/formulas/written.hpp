#pragma once
/// Graphs as formulas again: what a person would write, in NumPy's notation, LaTeX or C++.

#include <optional>
#include <string>
#include <vector>

#include "formulas/graph.hpp"
#include "formulas/syntax.hpp"

namespace popgrad::formulas {

/// A formula with the numbers of axes of its nodes, as to_latex takes them.
struct Written {
  std::string name;  ///< left of the =
  syntax::Tree tree;
  std::vector<int> ranks;
};

/// A number >= 0 as a decimal of up to six places, such as "0.25"; none: it is printed as a quotient.
std::optional<std::string> short_decimal(const Rational& value);

struct NamedArray {
  std::string name;
  Array array;
};

/// As one formula. Throws InputError if it is too long for one.
Written written(const Array& array);
/// The formulas in an order of computation: long parts that are needed more than once come first, under names
/// `part1`, `part2`, ... that no variable has.
std::vector<Written> written(const std::vector<NamedArray>& outputs);

/// The same formulas in operations that have names in NumPy; their values only, so without stop_gradient.
std::vector<Array> in_numpy(const std::vector<Array>& formulas);

}  // namespace popgrad::formulas
