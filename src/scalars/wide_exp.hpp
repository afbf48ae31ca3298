#pragma once
/// The exponential for loops that are vectorised: no call, no branch, the same bits in every lane.

#include <cstdint>
#include <cstring>

namespace popgrad::wide {

/// x <- exp(x) for x <= 709, of a double or of each number of a vector in the compiler's own
/// notation; `Bits` are whole numbers of 64 bits in the same form. x below -708 counts as -708. With
///   x = n ln 2 + r, |r| <= ln 2 / 2,
/// exp r comes by its series to r^13, remainder below 5e-18. Vectors go by reference because by
/// value they would be part of an ABI that the baseline does not have.
template <class Bits, class Number>
[[gnu::always_inline]] inline void exp_bounded(Number& x) {
  static_assert(sizeof(Bits) == sizeof(Number));
  const Number least = Number{} - 708.0;
  const Number y = x < least ? least : x;
  // Adding 1.5 * 2^52 leaves the nearest whole number in the low bits.
  const Number shifted = y * 0x1.71547652b82fep0 + 0x1.8p52;
  const Number n = shifted - 0x1.8p52;
  // ln 2 in two parts, the first with zeros at its end.
  const Number r = (y - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
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
  p = p * r + 0.5;
  p = (p * r) * r + (r + 1.0);
  Bits bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  Number power;
  std::memcpy(&power, &bits, sizeof power);
  x = p * power;
}

}  // namespace popgrad::wide
