#include "popgrad/scalar/rational.hpp"

#include "number_text.hpp"

namespace popgrad {

std::string to_text(const Rational& x) { return x.str(); }

template <>
Rational from_text<Rational>(std::string_view text) {
  const FractionText fraction = parse_number(text);
  using Integer = boost::multiprecision::mpz_int;
  return Rational(Integer(fraction.numerator)) / Rational(Integer(fraction.denominator));
}

}  // namespace popgrad
