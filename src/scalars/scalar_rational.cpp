#include "popgrad/scalars/rational.hpp"

#include <stdexcept>

#include "scalars/number_text.hpp"

namespace popgrad {

std::string to_text(const Rational& x) { return x.str(); }

template <>
Rational from_text<Rational>(std::string_view text) {
  const FractionText fraction = parse_number(text);
  using Integer = boost::multiprecision::mpz_int;
  const Rational value =
      Rational(Integer(fraction.numerator)) / Rational(Integer(fraction.denominator));
  // Formulas take such numbers to the fourth power, and GMP ends the program where a fraction is
  // too large for a double.
  constexpr unsigned powers = 50;
  static const Integer far = boost::multiprecision::pow(Integer(10), powers);
  const Rational size = abs(value);
  if (size > far || (size > 0 && size * far < 1)) {
    throw std::invalid_argument("'" + std::string(text) +
                                "' must be 0 or of a size from 1e-50 to 1e50");
  }
  return value;
}

}  // namespace popgrad
