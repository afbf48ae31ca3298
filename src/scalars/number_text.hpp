#pragma once
/// Reading `-12.5e-3` and `p/q` once, for all scalars, and the numbers that a declaration allows.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "popgrad/base/range.hpp"

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

/// The digits of a whole number, `10000` for `1e4`; nothing if it is none.
std::optional<std::string> whole_digits(std::string_view text);

/// Whether `x` lies in the range.
template <class T>
bool allows(const Range& range, const T& x) {
  return (range.without_low ? T(range.low) < x : !(x < T(range.low))) &&
         (range.without_high ? x < T(range.high) : !(T(range.high) < x));
}

/// `1e9` for 1000000000: the shortest decimal that is this number.
std::string short_text(double x);

/// What a message says of a text that is no number within the range: "must be > 0 and <= 1",
/// "is not a finite number; it must be > 0 and <= 1". Nothing if it is one.
std::optional<std::string> refusal_of_number(std::string_view text, const Range& range);
/// The same of a whole number: "must be a whole number from 1 to 1e9".
std::optional<std::string> refusal_of_whole(std::string_view text, const Range& range);

}  // namespace popgrad
