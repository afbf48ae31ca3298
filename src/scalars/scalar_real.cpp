#include "popgrad/scalars/real.hpp"

#include <boost/math/constants/constants.hpp>

#include "scalars/number_text.hpp"

namespace popgrad {

DigitsScope::DigitsScope(unsigned digits) : former_(Real::default_precision()) {
  Real::default_precision(digits);
}

DigitsScope::~DigitsScope() { Real::default_precision(former_); }

unsigned digits() { return Real::default_precision(); }

std::string to_text(const Real& x) {
  return x.str(static_cast<std::streamsize>(digits()), std::ios_base::fmtflags{});
}

template <>
Real from_text<Real>(std::string_view text) {
  const FractionText fraction = parse_number(text);
  // Integers longer than the precision are rounded when read, so a decimal is read as a decimal.
  if (fraction.is_quotient) return Real(fraction.numerator) / Real(fraction.denominator);
  return Real(std::string(text));
}

Real ScalarAbilities<Real>::erf(const Real& x) {
  Real result;
  mpfr_erf(result.backend().data(), x.backend().data(), MPFR_RNDN);
  return result;
}

Real Constant<Real>::pi() { return boost::math::constants::pi<Real>(); }

template <>
Real machine_epsilon<Real>() {
  using std::pow;
  return pow(Real(10), 1 - static_cast<int>(digits()));
}

}  // namespace popgrad
