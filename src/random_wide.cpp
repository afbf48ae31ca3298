#include "random_wide.hpp"

#include <bit>
#include <cmath>

#include "wide.hpp"

namespace popgrad::wide {

namespace {

// Of a group of blocks, word w of block i at [w][i]: numbers that are used at once (in a flat array
// they would keep what follows from being vectorised), or words in the caller's memory.
using Words = std::array<std::array<std::uint32_t, lanes>, 4>;
struct Written {
  std::uint32_t* out;
  std::uint32_t* operator[](std::size_t w) const { return out + w * lanes; }
};

template <int rounds, class Destination>
[[gnu::always_inline]] inline void blocks(const std::array<std::uint32_t, 2>& key,
                                          const std::array<std::uint32_t, 4>& counter,
                                          Destination&& words) {
  // Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, Table 2 and Section 4.
  constexpr std::uint64_t multiplier_0 = 0xD2511F53U;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57U;
  // Numbers of 32 bits in places of 64, which is how products of them are formed; what is above
  // them is cut off by the next product.
  std::uint64_t x[4][lanes];
  for (std::size_t i = 0; i < lanes; ++i) {
    x[0][i] = counter[0] + static_cast<std::uint32_t>(i);
    x[1][i] = counter[1];
    x[2][i] = counter[2];
    x[3][i] = counter[3];
  }
  std::uint32_t key_0 = key[0];
  std::uint32_t key_1 = key[1];
  for (int round = 0; round < rounds; ++round) {
#pragma omp simd
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::uint64_t a = (x[0][i] & 0xFFFFFFFFU) * multiplier_0;
      const std::uint64_t b = (x[2][i] & 0xFFFFFFFFU) * multiplier_1;
      x[0][i] = (b >> 32U) ^ x[1][i] ^ key_0;
      x[1][i] = b;
      x[2][i] = (a >> 32U) ^ x[3][i] ^ key_1;
      x[3][i] = a;
    }
    key_0 += 0x9E3779B9U;
    key_1 += 0xBB67AE85U;
  }
  for (std::size_t w = 0; w < 4; ++w) {
    for (std::size_t i = 0; i < lanes; ++i) words[w][i] = static_cast<std::uint32_t>(x[w][i]);
  }
}

// Radius from 32 bits u centred in their cells, (u + 1/2)/2^32; angle from 32 bits likewise.
[[gnu::always_inline]] inline void box_muller(const std::uint32_t* radius_bits,
                                              const std::uint32_t* angle_bits, double* cosines,
                                              double* sines) {
#pragma omp simd
  for (std::size_t i = 0; i < lanes; ++i) {
    // With m in [1/sqrt 2, sqrt 2) and s = (m - 1)/(m + 1), |s| < 0.1716:
    //   ln u = e ln 2 + ln m
    //   ln m = 2 (s + s^3/3 + ...), remainder after s^15 below 2e-14
    const double u = (static_cast<double>(radius_bits[i]) + 0.5) * 0x1p-32;
    const auto bits = std::bit_cast<std::uint64_t>(u);
    const std::uint64_t shifted = bits - 0x3FE6A09E667F3BCDU;  // less the bits of 1/sqrt 2
    const auto exponent =
        static_cast<double>(static_cast<std::int32_t>(static_cast<std::int64_t>(shifted) >> 52));
    const double m = std::bit_cast<double>((shifted & 0x000FFFFFFFFFFFFFU) + 0x3FE6A09E667F3BCDU);
    const double s = (m - 1) / (m + 1);
    const double z = s * s;
    double p = z * (1.0 / 15) + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1.0;
    const double logarithm = exponent * 0x1.62e42fefa39efp-1 + 2 * s * p;
    const double radius = std::sqrt(-2 * logarithm);
    // Two bits say which quarter of the circle, 30 where within (-pi/4, pi/4) of its middle.
    const std::uint32_t quarter = angle_bits[i] >> 30U;
    const double t = ((static_cast<double>(angle_bits[i] & 0x3FFFFFFFU) + 0.5) * 0x1p-30 - 0.5) *
                     0x1.921fb54442d18p0;
    const double q = t * t;
    // Remainders after t^13 and t^14: 2e-14 and 1e-15.
    double sine = q * (1.0 / 6227020800) - 1.0 / 39916800;
    sine = sine * q + 1.0 / 362880;
    sine = sine * q - 1.0 / 5040;
    sine = sine * q + 1.0 / 120;
    sine = sine * q - 1.0 / 6;
    sine = sine * q * t + t;
    double cosine = q * (-1.0 / 87178291200) + 1.0 / 479001600;
    cosine = cosine * q - 1.0 / 3628800;
    cosine = cosine * q + 1.0 / 40320;
    cosine = cosine * q - 1.0 / 720;
    cosine = cosine * q + 1.0 / 24;
    cosine = cosine * q - 0.5;
    cosine = cosine * q + 1.0;
    // Turned by quarter times pi/2 (and by the pi/4 of the middle, which changes no law).
    const double first = (quarter & 1U) != 0 ? -sine : cosine;
    const double second = (quarter & 1U) != 0 ? cosine : sine;
    const double sign = (quarter & 2U) != 0 ? -radius : radius;
    cosines[i] = sign * first;
    sines[i] = sign * second;
  }
}

}  // namespace

POPGRAD_WIDE
void philox(const std::array<std::uint32_t, 2>& key, std::array<std::uint32_t, 4> counter,
            std::size_t groups, std::uint32_t* out) {
  for (std::size_t group = 0; group < groups; ++group, counter[0] += lanes) {
    blocks<7>(key, counter, Written{out + 4 * lanes * group});
  }
}

POPGRAD_WIDE
void normals(const std::array<std::uint32_t, 2>& key, const std::array<std::uint32_t, 4>& counter,
             double* out) {
  Words words;
  blocks<7>(key, counter, words);
  box_muller(words[0].data(), words[1].data(), out, out + lanes);
  box_muller(words[2].data(), words[3].data(), out + 2 * lanes, out + 3 * lanes);
}

POPGRAD_WIDE
void alias_draws(const std::uint64_t* cells, std::uint64_t size, const std::uint32_t* bits,
                 std::size_t count, std::uint16_t* out) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t scaled = bits[i] * size;
    const std::uint64_t own = scaled >> 32U;
    const std::uint64_t cell = cells[own];
    const std::uint64_t low = scaled & 0xFFFFFFFFU;
    out[i] = static_cast<std::uint16_t>(low < (cell & 0xFFFFFFFFU) ? own : cell >> 32U);
  }
}

}  // namespace popgrad::wide
