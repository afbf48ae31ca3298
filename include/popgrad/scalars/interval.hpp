#pragma once
/// Interval: MPFI intervals with outward rounding; the true value never leaves them.

#include <boost/multiprecision/mpfi.hpp>

#include <boost/multiprecision/eigen.hpp>
#include <string>
#include <string_view>

#include "popgrad/scalars/scalar.hpp"

namespace popgrad {

/// 50 decimal digits: wide enough that an enclosure is limited by the formula, not by rounding.
using Interval = boost::multiprecision::number<boost::multiprecision::mpfi_float_backend<50>,
                                               boost::multiprecision::et_off>;

template <>
struct ScalarAbilities<Interval> {
  static constexpr const char* name = "Interval";
  static constexpr bool exact = false;
  static constexpr bool has_exp = true;
  static constexpr bool ordered = false;
  static constexpr bool encloses = true;
  static Truth less(const Interval& a, const Interval& b);
  static Interval where_positive(const Interval& x, const Interval& if_positive,
                                 const Interval& otherwise);
  static Interval erf(const Interval& x);
};

/// [low, high] as decimal or p/q text, rounded outwards.
/// Throws std::invalid_argument if low > high.
Interval make_interval(std::string_view low, std::string_view high);

/// Midpoint, rounded to double.
double to_double(const Interval& x);
/// Ends rounded outwards to double.
double lower_double(const Interval& x);
double upper_double(const Interval& x);
/// Does the interval contain the number that `text` (decimal or p/q) denotes?
bool contains(const Interval& x, std::string_view text);
std::string to_text(const Interval& x);
template <>
Interval from_text<Interval>(std::string_view text);
template <>
struct Constant<Interval> {
  static Interval pi();
};

}  // namespace popgrad
