#pragma once
/// What a number given from outside has to satisfy: of options, parameters and axes of sweeps.

#include <string>

namespace popgrad {

/// The largest number taken where nothing narrower is declared, and the least of those that have to
/// be positive: products of three stay within a double.
inline constexpr double largest_number = 1e100;
inline constexpr double least_positive = 1e-100;

/// Both ends are finite.
struct Range {
  double low = -largest_number, high = largest_number;
  bool without_low = false, without_high = false;  ///< the end itself is not allowed
};
constexpr Range above(double low) {
  return low == 0 ? Range{.low = least_positive} : Range{.low = low, .without_low = true};
}
constexpr Range at_least(double low) { return {.low = low}; }
/// low <= x <= high.
constexpr Range within(double low, double high) { return {low, high}; }
/// low < x <= high.
constexpr Range above_up_to(double low, double high) {
  return low == 0 ? Range{least_positive, high} : Range{low, high, true};
}
/// low <= x < high.
constexpr Range within_below(double low, double high) { return {low, high, false, true}; }

/// "> 0", ">= 0 and <= 1"; without ends that hold for all numbers, so empty for any number.
std::string rule_of(const Range& range);

}  // namespace popgrad
