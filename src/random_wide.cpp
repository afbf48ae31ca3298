#include "random_wide.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "wide.hpp"

namespace popgrad::wide {

namespace {

// Numbers of 32 bits in places of 64, which is how products of them are formed; what is above them is
// cut off by the next product. Vectors by name: of a loop over arrays Clang keeps them in memory, and goes
// through some of them one at a time.
using Places __attribute__((vector_size(64))) = std::uint64_t;
using Halves __attribute__((vector_size(32))) = std::uint32_t;
constexpr std::size_t places = sizeof(Places) / sizeof(std::uint64_t);
static_assert(lanes == 2 * places);
constexpr std::uint64_t low = 0xFFFFFFFFU;  // 32 bits

// A group of blocks: word w of block i at [w], place i of its halves.
using Words = Places[4][2];

template <int rounds>
[[gnu::always_inline]] inline void blocks(const std::array<std::uint32_t, 2>& key,
                                          const std::array<std::uint32_t, 4>& counter, Words& x) {
  // Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, Table 2 and Section 4.
  constexpr std::uint64_t multiplier_0 = 0xD2511F53U;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57U;
  constexpr Places nothing{};
  constexpr Places each{0, 1, 2, 3, 4, 5, 6, 7};
  for (std::uint64_t half = 0; half < 2; ++half) {
    x[0][half] = (each + (counter[0] + half * places)) & low;
    for (std::size_t w = 1; w < 4; ++w) x[w][half] = nothing + counter[w];
  }
  std::uint32_t key_0 = key[0];
  std::uint32_t key_1 = key[1];
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t half = 0; half < 2; ++half) {
      const Places a = (x[0][half] & low) * multiplier_0;
      const Places b = (x[2][half] & low) * multiplier_1;
      x[0][half] = (b >> 32U) ^ x[1][half] ^ std::uint64_t{key_0};
      x[1][half] = b;
      x[2][half] = (a >> 32U) ^ x[3][half] ^ std::uint64_t{key_1};
      x[3][half] = a;
    }
    key_0 += 0x9E3779B9U;
    key_1 += 0xBB67AE85U;
  }
}

using Reals __attribute__((vector_size(64))) = double;

[[gnu::always_inline]] inline Reals reals_of(const Places& bits) {
  Reals made;
  std::memcpy(&made, &bits, sizeof made);
  return made;
}
[[gnu::always_inline]] inline Places bits_of(const Reals& numbers) {
  Places made;
  std::memcpy(&made, &numbers, sizeof made);
  return made;
}
// Of whole numbers below 2^52: with the bits of 2^52 above them they are 2^52 more, as reals.
[[gnu::always_inline]] inline Reals whole(const Places& numbers) {
  return reals_of(numbers | 0x4330000000000000U) - 0x1p52;
}

// Through memory: taken from a vector one by one, the numbers would have one root at a time.
[[gnu::always_inline]] inline Reals root_of(const Reals& numbers) {
  double root[places];
  std::memcpy(root, &numbers, sizeof root);
  for (double& number : root) number = std::sqrt(number);
  Reals made;
  std::memcpy(&made, root, sizeof made);
  return made;
}

// Radius from 32 bits u centred in their cells, (u + 1/2)/2^32; angle from 32 bits likewise.
[[gnu::always_inline]] inline void box_muller(const Places& radius_bits, const Places& angle_bits,
                                              double* cosines, double* sines) {
  // With m in [1/sqrt 2, sqrt 2) and s = (m - 1)/(m + 1), |s| < 0.1716:
  //   ln u = e ln 2 + ln m
  //   ln m = 2 (s + s^3/3 + ...), remainder after s^15 below 2e-14
  const Reals u = (whole(radius_bits) + 0.5) * 0x1p-32;
  // Less the bits of 1/sqrt 2, and 1024 more in the exponent, so that it is positive.
  const Places shifted = bits_of(u) - 0x3FE6A09E667F3BCDU + (1024ULL << 52U);
  const Reals exponent = whole(shifted >> 52U) - 1024.0;
  const Reals m = reals_of((shifted & 0x000FFFFFFFFFFFFFU) + 0x3FE6A09E667F3BCDU);
  const Reals s = (m - 1.0) / (m + 1.0);
  const Reals z = s * s;
  Reals p = z * (1.0 / 15) + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  const Reals logarithm = exponent * 0x1.62e42fefa39efp-1 + 2.0 * s * p;
  const Reals radius = root_of(-2.0 * logarithm);
  // Two bits say which quarter of the circle, 30 where within (-pi/4, pi/4) of its middle.
  const Places quarter = angle_bits >> 30U;
  const Reals t = ((whole(angle_bits & 0x3FFFFFFFU) + 0.5) * 0x1p-30 - 0.5) * 0x1.921fb54442d18p0;
  const Reals q = t * t;
  // Remainders after t^13 and t^14: 2e-14 and 1e-15.
  Reals sine = q * (1.0 / 6227020800) - 1.0 / 39916800;
  sine = sine * q + 1.0 / 362880;
  sine = sine * q - 1.0 / 5040;
  sine = sine * q + 1.0 / 120;
  sine = sine * q - 1.0 / 6;
  sine = sine * q * t + t;
  Reals cosine = q * (-1.0 / 87178291200) + 1.0 / 479001600;
  cosine = cosine * q - 1.0 / 3628800;
  cosine = cosine * q + 1.0 / 40320;
  cosine = cosine * q - 1.0 / 720;
  cosine = cosine * q + 1.0 / 24;
  cosine = cosine * q - 0.5;
  cosine = cosine * q + 1.0;
  // Turned by quarter times pi/2 (and by the pi/4 of the middle, which changes no law): in odd quarters
  // (cos, sin) is (-sin, cos), from the second on both change their sign.
  const Places odd = Places{} - (quarter & 1U);
  const Places both = (quarter >> 1U) << 63U;
  constexpr std::uint64_t minus = 1ULL << 63U;
  const Places of_sine = bits_of(sine);
  const Places of_cosine = bits_of(cosine);
  const Reals first = reals_of((((of_sine ^ minus) & odd) | (of_cosine & ~odd)) ^ both) * radius;
  const Reals second = reals_of(((of_cosine & odd) | (of_sine & ~odd)) ^ both) * radius;
  std::memcpy(cosines, &first, sizeof first);
  std::memcpy(sines, &second, sizeof second);
}

POPGRAD_WIDE
void philox_blocks(const std::array<std::uint32_t, 2>& key, std::array<std::uint32_t, 4> counter,
                   std::size_t groups, std::uint32_t* out) {
  Words words{};
  for (std::size_t group = 0; group < groups; ++group, counter[0] += lanes) {
    blocks<7>(key, counter, words);
    for (const auto& word : words) {
      for (const Places& half : word) {
        const Halves cut = __builtin_convertvector(half, Halves);
        std::memcpy(out, &cut, sizeof cut);
        out += places;
      }
    }
  }
}

POPGRAD_WIDE
void normals_of_blocks(const std::array<std::uint32_t, 2>& key,
                       const std::array<std::uint32_t, 4>& counter, double* out) {
  Words words{};
  blocks<7>(key, counter, words);
  for (std::size_t pair = 0; pair < 2; ++pair, out += 2 * lanes) {
    for (std::size_t half = 0; half < 2; ++half) {
      box_muller(words[2 * pair][half] & low, words[2 * pair + 1][half] & low, out + half * places,
                 out + lanes + half * places);
    }
  }
}

POPGRAD_WIDE
void draw_by_alias(const std::uint64_t* cells, std::uint64_t size, const std::uint32_t* bits,
                   std::size_t count, std::uint16_t* out) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t scaled = bits[i] * size;
    const std::uint64_t own = scaled >> 32U;
    const std::uint64_t cell = cells[own];
    out[i] = static_cast<std::uint16_t>((scaled & low) < (cell & low) ? own : cell >> 32U);
  }
}

}  // namespace

void philox(const std::array<std::uint32_t, 2>& key, std::array<std::uint32_t, 4> counter,
            std::size_t groups, std::uint32_t* out) {
  philox_blocks(key, counter, groups, out);
}

void normals(const std::array<std::uint32_t, 2>& key, const std::array<std::uint32_t, 4>& counter,
             double* out) {
  normals_of_blocks(key, counter, out);
}

void alias_draws(const std::uint64_t* cells, std::uint64_t size, const std::uint32_t* bits,
                 std::size_t count, std::uint16_t* out) {
  draw_by_alias(cells, size, bits, count, out);
}

}  // namespace popgrad::wide
