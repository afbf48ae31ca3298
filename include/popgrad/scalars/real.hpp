#pragma once
/// Real: an MPFR float of as many digits as asked for.
///
/// The number of digits is one setting for the whole process (Boost 1.74 keeps it in one static),
/// so it is set through `DigitsScope` before any Real is made, and never while threads compute.

#include <boost/multiprecision/mpfr.hpp>

#include <boost/multiprecision/eigen.hpp>
#include <string>
#include <string_view>

#include "popgrad/scalars/scalar.hpp"

namespace popgrad {

using Real = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>,
                                           boost::multiprecision::et_off>;

template <>
struct ScalarAbilities<Real> {
  static constexpr const char* name = "Real";
  static constexpr bool exact = false;
  static constexpr bool has_exp = true;
  static constexpr bool ordered = true;
  static constexpr bool encloses = false;
  static Real erf(const Real& x);
};

/// Sets the decimal digits of every Real made while it lives; restores the former number after.
class DigitsScope {
 public:
  explicit DigitsScope(unsigned digits);
  ~DigitsScope();
  DigitsScope(const DigitsScope&) = delete;
  DigitsScope& operator=(const DigitsScope&) = delete;

 private:
  unsigned former_;
};

/// Decimal digits in force.
unsigned digits();

inline double to_double(const Real& x) { return x.convert_to<double>(); }
std::string to_text(const Real& x);
template <>
Real from_text<Real>(std::string_view text);
template <>
struct Constant<Real> {
  static Real pi();
};
template <>
Real machine_epsilon<Real>();

}  // namespace popgrad

namespace Eigen {
/// Boost's own traits lack infinity() and quiet_NaN(), which Eigen's eigenvalue solver calls.
template <>
struct NumTraits<popgrad::Real> : GenericNumTraits<popgrad::Real> {
  static popgrad::Real epsilon() { return popgrad::machine_epsilon<popgrad::Real>(); }
  static popgrad::Real dummy_precision() { return popgrad::Real(1000) * epsilon(); }
  static int digits10() { return static_cast<int>(popgrad::digits()); }
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 10,
    AddCost = 100,
    MulCost = 100
  };
};
}  // namespace Eigen
