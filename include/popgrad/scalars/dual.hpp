#pragma once
/// Dual<T>: a + b eps with eps^2 = 0; carries an exact first derivative through any formula.
///
/// Boost 1.74's autodiff does not compile over MPFR floats and Eigen's AutoDiffScalar has no erf,
/// so the dozen operations that the formulas use are written out here.

#include <Eigen/Core>
#include <cmath>

#include "popgrad/scalars/scalar.hpp"

namespace popgrad {

template <class T>
struct Dual {
  T value{0};
  T slope{0};

  Dual() = default;
  template <class N>
  requires std::convertible_to<N, T> || std::constructible_from<T, N> Dual(const N& number)
      : value(T(number)) {}  // NOLINT: numbers are constants, slope 0
  Dual(T v, T s) : value(std::move(v)), slope(std::move(s)) {}

  Dual& operator+=(const Dual& o) { return *this = *this + o; }
  Dual& operator-=(const Dual& o) { return *this = *this - o; }
  Dual& operator*=(const Dual& o) { return *this = *this * o; }
  Dual& operator/=(const Dual& o) { return *this = *this / o; }

  friend Dual operator+(const Dual& a, const Dual& b) {
    return {T(a.value + b.value), T(a.slope + b.slope)};
  }
  friend Dual operator-(const Dual& a, const Dual& b) {
    return {T(a.value - b.value), T(a.slope - b.slope)};
  }
  friend Dual operator-(const Dual& a) { return {T(-a.value), T(-a.slope)}; }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {T(a.value * b.value), T(a.slope * b.value + a.value * b.slope)};
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const T quotient = a.value / b.value;
    return {quotient, T((a.slope - quotient * b.slope) / b.value)};
  }
  friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend auto operator<=>(const Dual& a, const Dual& b) requires Ordered<T> {
    return a.value < b.value   ? std::partial_ordering::less
           : b.value < a.value ? std::partial_ordering::greater
                               : std::partial_ordering::equivalent;
  }

  friend Dual exp(const Dual& a) {
    using std::exp;
    const T e = exp(a.value);
    return {e, T(e * a.slope)};
  }
  friend Dual log(const Dual& a) {
    using std::log;
    return {T(log(a.value)), T(a.slope / a.value)};
  }
  friend Dual sqrt(const Dual& a) {
    using std::sqrt;
    const T r = sqrt(a.value);
    return {r, T(a.slope / (T(2) * r))};
  }
  friend Dual abs(const Dual& a) { return a.value < T(0) ? -a : a; }
};

template <class T>
struct ScalarAbilities<Dual<T>> : ScalarAbilities<T> {
  static Dual<T> erf(const Dual<T>& a) {
    using std::exp, std::sqrt;
    const T slope = T(2) / sqrt(pi<T>()) * exp(T(-a.value * a.value));
    return {error_function(a.value), T(slope * a.slope)};
  }
};

/// A Dual goes down by its value.
template <class T>
double to_double(const Dual<T>& x) {
  return to_double(x.value);
}

template <class T>
struct Constant<Dual<T>> {
  static Dual<T> pi() { return Dual<T>(Constant<T>::pi()); }
};

}  // namespace popgrad

namespace Eigen {
template <class T>
struct NumTraits<popgrad::Dual<T>> : GenericNumTraits<popgrad::Dual<T>> {
  using Real = popgrad::Dual<T>;
  using NonInteger = popgrad::Dual<T>;
  using Nested = popgrad::Dual<T>;
  using Literal = popgrad::Dual<T>;
  static Real epsilon() { return Real(NumTraits<T>::epsilon()); }
  static Real dummy_precision() { return Real(NumTraits<T>::dummy_precision()); }
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 2,
    AddCost = 2,
    MulCost = 6
  };
};
}  // namespace Eigen
