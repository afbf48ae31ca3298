#pragma once
/// The exponential for loops that are vectorised: no call, no branch, the same bits in every lane.

#include <cstdint>
#include <cstring>

namespace popgrad::wide {

/// exp(x) = (1 + r + r^2 tail) 2^n with
///   x = n ln 2 + r, |r| <= ln 2 / 2,
/// by the series of exp r to r^13, remainder below 5e-18; x below -708 counts as -708, and x <= 709. Of a double or of
/// each number of a vector in the compiler's own notation; `Bits` are whole numbers of 64 bits in the same form. Vectors
/// go by reference because by value they would be part of an ABI that the baseline does not have.
template <class Bits, class Number>
[[gnu::always_inline]] inline void exp_parts(const Number& x, Number& r, Number& tail,
                                             Number& power) {
  static_assert(sizeof(Bits) == sizeof(Number));
  const Number least = Number{} - 708.0;
  const Number y = x < least ? least : x;
  // Adding 1.5 * 2^52 leaves the nearest whole number in the low bits.
  const Number shifted = y * 0x1.71547652b82fep0 + 0x1.8p52;
  const Number n = shifted - 0x1.8p52;
  // ln 2 in two parts, the first with zeros at its end.
  r = (y - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
  Number p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  tail = p * r + 0.5;
  Bits bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  std::memcpy(&power, &bits, sizeof power);
}

/// x <- exp(x), as exp_parts.
template <class Bits, class Number>
[[gnu::always_inline]] inline void exp_bounded(Number& x) {
  Number r, tail, power;
  exp_parts<Bits>(x, r, tail, power);
  x = ((tail * r) * r + (r + 1.0)) * power;
}

}  // namespace popgrad::wide
