#pragma once
/// Whether formulas are 0 wherever they are defined: by algebra, exactly at drawn rational points, or in many digits.
///
/// Square roots of what is drawn are drawn themselves (v = r^2, r > 0), and functions without rational values, such as
/// exp(u), are free numbers: what vanishes for all of these vanishes. What does not is evaluated in 50 digits.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formulas/graph.hpp"
#include "popgrad/base/range.hpp"
#include "popgrad/scalars/rational.hpp"

namespace popgrad::learning {

using formulas::Array;

/// A difference that is to be 0, and the terms that it is small compared with.
struct Difference {
  std::string name;  ///< of the array: "s"
  Array array;
  std::vector<Array> terms;
};

/// Differences, and comparisons of the same variables outside of which they need not vanish.
struct Vanishing {
  std::vector<Difference> differences;
  std::vector<Array> domain = {};
};

/// Numbers for variables by their names; of others the ranges. The others are any numbers where no range is given.
struct DrawnVariables {
  std::map<std::string, std::vector<Rational>, std::less<>> given;
  std::map<std::string, Range, std::less<>> ranges;
  std::uint64_t seed = 1;
};

/// An entry that is not 0.
struct NotZero {
  std::string component;  ///< "s[0]"
  std::string place;  ///< "x = 1/3, y = 2": variables that it reads, but for those that are given
  std::string value;
  double share = 0;  ///< of the largest term
};

struct AtPoints {
  std::size_t points = 0;  ///< where all is defined; 0: nothing is shown
  bool exact = false;      ///< on rationals; else in 50 digits
  std::optional<NotZero> largest;
};

/// At 8 points, or as many as are found in the domain and take no long time.
AtPoints at_points(const Vanishing& what, const DrawnVariables& variables);

struct Proof {
  bool found = false;
  bool at_all_sizes = false;  ///< with sizes as symbols, of generic formulas
  std::string too_long;       ///< why none was sought to the end; or empty
};
/// Whether all differences have an empty normal form as polynomials in their variables, after multiplication with
/// divisors: they are 0 at all points where they are defined. Cost: some ten seconds, or it is too long.
Proof proof_of(const Vanishing& what);

/// Whether formulas are made by the same operations at all other sizes, and what is derived from them, too: named sizes
/// are at least 2 and differ from each other and from other extents, so that equal extents are equal sizes, and no
/// operation picks entries, compares numbers or takes roots of sizes.
bool are_generic(const std::vector<Array>& formulas);

/// Of an entry of an array: "s", "s[0]", "W[1, 2]".
std::string entry_text(const std::string& name, const formulas::Shape& shape, Index entry);

}  // namespace popgrad::learning
