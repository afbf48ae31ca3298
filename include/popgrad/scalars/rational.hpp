#pragma once
/// Rational: exact fractions of integers of any size (GMP). Has no exp, log or sqrt.

#include <boost/multiprecision/gmp.hpp>

#include <boost/multiprecision/eigen.hpp>
#include <string>
#include <string_view>

#include "popgrad/scalars/scalar.hpp"

namespace popgrad {

using Rational = boost::multiprecision::number<boost::multiprecision::gmp_rational,
                                               boost::multiprecision::et_off>;

template <>
struct ScalarAbilities<Rational> {
  static constexpr const char* name = "Rational";
  static constexpr bool exact = true;
  static constexpr bool has_exp = false;
  static constexpr bool ordered = true;
  static constexpr bool encloses = false;
};

inline double to_double(const Rational& x) { return x.convert_to<double>(); }
std::string to_text(const Rational& x);
template <>
Rational from_text<Rational>(std::string_view text);

}  // namespace popgrad
