#pragma once
/// Reading `-12.5e-3` and `p/q` once, for all scalars.

#include <string>
#include <string_view>

namespace popgrad {

/// An exact fraction as two decimal integers; denominator > 0.
struct FractionText {
  std::string numerator;
  std::string denominator;
  bool is_quotient = false;  ///< was given as p/q
};

/// Throws std::invalid_argument naming the text if it is not a finite decimal number or quotient,
/// or if its exponent exceeds 100000 in size.
FractionText parse_number(std::string_view text);

}  // namespace popgrad
