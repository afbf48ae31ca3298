#pragma once
/// The numbers that one formula runs on, and what each of them can do.
///
///   scalar       header                  exact  exp/log  ordered  encloses   used for
///   double       scalar.hpp              no     yes      yes      no         solving
///   Real         scalar/real.hpp         no     yes      yes      no         many digits
///   Rational     scalar/rational.hpp     yes    no       yes      no         exact values
///   Interval     scalar/interval.hpp     no     yes      no       yes        enclosures
///   Expression   scalar/expression.hpp   yes    yes      no       no         identities
///   Dual<T>      scalar/dual.hpp         as T   as T     as T     as T       derivatives
///
/// A formula that needs exp says so with the concept `Transcendental`; it is then absent from the
/// rationals instead of failing inside a template. `scalar/all.hpp` holds the list as a type.

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

namespace popgrad {

/// What is known of a condition: an interval or a symbol need not decide `<`.
enum class Truth { no, yes, undecided };

/// Declared abilities of a scalar; one specialisation a scalar, beside its type.
template <class T>
struct ScalarAbilities;

template <>
struct ScalarAbilities<double> {
  static constexpr const char* name = "double";
  static constexpr bool exact = false;
  static constexpr bool has_exp = true;
  static constexpr bool ordered = true;
  static constexpr bool encloses = false;
  static double erf(double x) { return std::erf(x); }
};

template <class T>
concept Scalar = requires {
  ScalarAbilities<T>::name;
};
template <class T>
concept Transcendental = Scalar<T> && ScalarAbilities<T>::has_exp;
template <class T>
concept Ordered = Scalar<T> && ScalarAbilities<T>::ordered;

/// Is a < b? Decided for ordered scalars; the others say what they know.
template <Scalar T>
Truth less(const T& a, const T& b) {
  if constexpr (Ordered<T>) {
    return a < b ? Truth::yes : Truth::no;
  } else {
    return ScalarAbilities<T>::less(a, b);
  }
}

/// x > 0 ? if_positive : otherwise; the convex hull of both, or a step function, where undecided.
template <Scalar T>
T where_positive(const T& x, const T& if_positive, const T& otherwise) {
  if constexpr (Ordered<T>) {
    return x > T(0) ? if_positive : otherwise;
  } else {
    return ScalarAbilities<T>::where_positive(x, if_positive, otherwise);
  }
}

/// (2 / sqrt pi) int_0^x exp(-s^2) ds.
template <Transcendental T>
T error_function(const T& x) {
  return ScalarAbilities<T>::erf(x);
}

/// The one way from any scalar down to double (nearest, midpoint for an interval).
inline double to_double(double x) { return x; }

/// Decimal or `p/q` text as the scalar nearest to it (exact for rationals and expressions).
/// Throws std::invalid_argument on anything else.
template <class T>
T from_text(std::string_view text);
template <>
double from_text<double>(std::string_view text);

/// Text that reads back as the same number: 17 digits for double, all digits for the others.
std::string to_text(double x);

/// pi in the precision of the scalar; one specialisation a scalar.
template <class T>
struct Constant;
template <>
struct Constant<double> {
  static double pi() { return 3.141592653589793238462643383279502884; }
};
template <class T>
T pi() {
  return Constant<T>::pi();
}

/// The standard normal distribution function; the Gaussian closed forms and GELU use it.
template <Transcendental T>
T gaussian_cdf(const T& x) {
  using std::sqrt;
  return (T(1) + error_function(T(x / sqrt(T(2))))) / T(2);
}

/// The standard normal density.
template <Transcendental T>
T gaussian_pdf(const T& x) {
  using std::exp, std::sqrt;
  return exp(-(x * x) / T(2)) / sqrt(T(2) * pi<T>());
}

/// Spacing of the numbers near 1: 2^-52 for double, 10^(1 - digits) for Real.
template <class T>
T machine_epsilon();
template <>
inline double machine_epsilon<double>() {
  return 2.220446049250313e-16;
}

}  // namespace popgrad
