#pragma once
/// Functions of one number that the operations are made of, on any scalar.

#include <cmath>
#include <concepts>
#include <string>

#include "formulas/strided.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {

template <class T>
Dual<T> sin(const Dual<T>& a) {
  using std::sin, std::cos;
  return {T(sin(a.value)), T(cos(a.value) * a.slope)};
}
template <class T>
Dual<T> cos(const Dual<T>& a) {
  using std::sin, std::cos;
  return {T(cos(a.value)), T(-sin(a.value) * a.slope)};
}
template <class T>
Dual<T> tanh(const Dual<T>& a) {
  using std::tanh;
  const T y = tanh(a.value);
  return {y, T((T(1) - y * y) * a.slope)};
}
template <class T>
Dual<T> asin(const Dual<T>& a) {
  using std::asin, std::sqrt;
  return {T(asin(a.value)), T(a.slope / sqrt(T(T(1) - a.value * a.value)))};
}
template <class T>
Dual<T> atan2(const Dual<T>& y, const Dual<T>& x) {
  using std::atan2;
  const T square = x.value * x.value + y.value * y.value;
  return {T(atan2(y.value, x.value)), T((x.value * y.slope - y.value * x.slope) / square)};
}
template <class T>
Dual<T> floor(const Dual<T>& a) {
  using std::floor;
  return {T(floor(a.value)), T(0)};
}
template <class T>
Dual<T> pow(const Dual<T>& a, const Dual<T>& b) {
  using std::pow, std::log;
  const T y = pow(a.value, b.value);
  T slope = b.value * pow(a.value, T(b.value - T(1))) * a.slope;
  if (b.slope != T(0)) slope += log(a.value) * y * b.slope;
  return {y, slope};
}

namespace formulas {

template <class T>
T zero_of(const T&) {
  return T(0);
}
template <class T>
T of_truth(const T&, bool truth) {
  return T(truth ? 1 : 0);
}
/// A whole number on the scalar of `like`.
template <class T>
T number_like(const T&, Index value) {
  if constexpr (std::constructible_from<T, long>) {
    return T(static_cast<long>(value));
  } else {
    return T(static_cast<double>(value));
  }
}

template <class T>
T quotient(const T& x, const T& y) {
  if constexpr (std::same_as<T, Rational>) {
    if (y == 0) throw InputError(to_text(x) + " / 0 is not defined; formulas must not divide by 0");
  }
  return x / y;
}

inline Rational floor_of(const Rational& x) {
  using boost::multiprecision::mpz_int;
  const mpz_int p = numerator(x), q = denominator(x);
  mpz_int whole = p / q;
  if (p < 0 && whole * q != p) --whole;
  return Rational(whole);
}
template <class T>
T floor_of(const T& x) {
  using std::floor;
  return floor(x);
}

/// x^n by squares.
template <class T>
T whole_power(T x, Index n) {
  T y(1);
  for (Index left = n < 0 ? -n : n; left > 0; left /= 2) {
    if (left % 2 == 1) y = y * x;
    if (left > 1) x = x * x;
  }
  return n < 0 ? quotient(T(1), y) : y;
}

/// Beyond this many bits a number is refused: 9**9**9 would have 1e9.
inline constexpr double most_bits = 1e5;

inline Rational power_of(const Rational& x, const Rational& y) {
  if (denominator(y) != 1) {
    throw InputError("the exponent " + to_text(y) +
                     " is not whole, so the power is no rational number");
  }
  if (x == 0 || x == 1 || x == -1) {
    if (x == 0 && y < 0) throw InputError("0 to the power " + to_text(y) + " is not defined");
    return y == 0 ? Rational(1) : x == -1 && numerator(y) % 2 == 0 ? Rational(1) : x;
  }
  const double bits = static_cast<double>(msb(abs(numerator(x))) + msb(denominator(x)) + 1);
  if (abs(to_double(y)) * bits > most_bits) {
    throw InputError("a power of " + std::to_string(static_cast<long>(bits)) +
                     " bits to the exponent " +
                     (abs(y) < Rational(1000000000) ? to_text(y) : std::string("above 1e9")) +
                     " has more than 30000 digits; write a smaller one");
  }
  return whole_power(x, numerator(y).convert_to<long>());
}
template <class T>
T power_of(const T& x, const T& y) {
  using std::pow;
  constexpr double most = 1024;
  const double exponent = to_double(y);
  if (exponent == 2 && y == T(2)) return x * x;
  if (std::abs(exponent) <= most && y == number_like(y, static_cast<Index>(exponent))) {
    if constexpr (requires { y.slope; }) {
      if (y.slope != 0) return pow(x, y);
    }
    return whole_power(x, static_cast<Index>(exponent));
  }
  return pow(x, y);
}

template <class T>
T root_of_sum(const T& sum) {
  using std::sqrt;
  // Of a Dual the slope at 0 would be infinite; that of a norm is 0 there.
  return sum == T(0) ? T(0) : T(sqrt(sum));
}

template <class T>
T logistic(const T& x) {
  using std::exp;
  return T(1) / (T(1) + exp(T(-x)));
}

/// ln(1 + e^x) = max(x, 0) + ln(1 + u), u = e^-|x|, without loss where u is small.
template <class T>
T log_one_plus_exp(const T& x) {
  using std::exp, std::log;
  const T u = exp(x < T(0) ? x : T(-x));
  const T sum = T(1) + u;
  const T rest = sum - T(1);
  const T logarithm = rest == T(0) ? u : T(log(sum) * (u / rest));
  return x < T(0) ? logarithm : T(x + logarithm);
}

/// ln sum exp x_i, without overflow.
template <class T>
T log_of_sum(const Line<const T>& x) {
  using std::exp, std::log;
  T largest = x[0];
  for (Index i = 1; i < x.size; ++i) {
    if (largest < x[i]) largest = x[i];
  }
  T total(0);
  for (Index i = 0; i < x.size; ++i) total += exp(T(x[i] - largest));
  return largest + log(total);
}

}  // namespace formulas
}  // namespace popgrad
