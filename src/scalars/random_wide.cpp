#include "scalars/random_wide.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "scalars/wide.hpp"

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

// Groups of blocks: word w of block i of a group at [w], place i of its two halves. Two groups go by
// turns, as every round waits for the one before.
template <std::size_t groups>
using Words = Places[4][2 * groups];

template <int rounds, std::size_t groups>
[[gnu::always_inline]] inline void blocks(const std::array<std::uint32_t, 2>& key,
                                          const std::array<std::uint32_t, 4>& counter,
                                          Words<groups>& x) {
  // Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, Table 2 and Section 4.
  constexpr std::uint64_t multiplier_0 = 0xD2511F53U;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57U;
  constexpr Places nothing{};
  constexpr Places each{0, 1, 2, 3, 4, 5, 6, 7};
  for (std::uint64_t half = 0; half < 2 * groups; ++half) {
    x[0][half] = (each + (counter[0] + half * places)) & low;
    for (std::size_t w = 1; w < 4; ++w) x[w][half] = nothing + counter[w];
  }
  std::uint32_t key_0 = key[0];
  std::uint32_t key_1 = key[1];
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t half = 0; half < 2 * groups; ++half) {
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

// The low halves of the words, group by group.
template <std::size_t groups>
[[gnu::always_inline]] inline std::uint32_t* write_words(const Words<groups>& words,
                                                         std::uint32_t* out) {
  for (std::size_t group = 0; group < groups; ++group) {
    for (const auto& word : words) {
      for (std::size_t half = 0; half < 2; ++half, out += places) {
        const Halves cut = __builtin_convertvector(word[2 * group + half], Halves);
        std::memcpy(out, &cut, sizeof cut);
      }
    }
  }
  return out;
}

using Reals __attribute__((vector_size(64))) = double;

// The same bits as another type of the same size.
template <class To, class From>
[[gnu::always_inline]] inline To same_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To made;
  std::memcpy(&made, &from, sizeof made);
  return made;
}

// Bits of 2^52: below them whole numbers of 52 bits are 2^52 more, as doubles.
constexpr std::uint64_t whole_bits = 0x4330000000000000U;

// The topmost bit of every number, in all of its bits.
[[gnu::always_inline]] inline Places spread_sign(const Places& numbers) {
  using Integers __attribute__((vector_size(64))) = std::int64_t;
  return same_bits<Places>(same_bits<Integers>(numbers) >> 63);
}

// Through memory: taken from a vector one by one, the numbers would have one root at a time.
template <class Number, class Vector>
[[gnu::always_inline]] inline Vector root_of(const Vector& numbers) {
  Number root[sizeof(Vector) / sizeof(Number)];
  std::memcpy(root, &numbers, sizeof root);
  for (Number& number : root) number = std::sqrt(number);
  Vector made;
  std::memcpy(&made, root, sizeof made);
  return made;
}

// Series below have the coefficients of least largest relative error on their intervals (Remez), which
// is given with them: four digits below the rounding of doubles.

// Pairs of radius times cosine and sine, from words of 32 bits that are centred in their cells. With
// w + 1/2 = 2^32 u for the radius and m in [1/sqrt 2, sqrt 2), s = (m - 1)/(m + 1), |s| < 0.1716:
//   u         = 2^e m
//   radius^2  = -2 ln u = -2 e ln 2 - 4 atanh s
// Of the word of the angle two bits say which quarter of the circle, 30 where within (-pi/4, pi/4) of
// its middle: k + 1/2 in units of pi/2^31.
[[gnu::always_inline]] inline void box_muller(const Places& radius_word, const Places& angle_word,
                                              double* cosines, double* sines) {
  constexpr std::uint64_t root_half = 0x3FE6A09E667F3BCDU;  // bits of 1/sqrt 2
  constexpr std::uint64_t minus = 1ULL << 63U;
  // 2^52 less a half is a double, so that one difference centres as well.
  const Reals cells = same_bits<Reals>(radius_word | whole_bits) - (0x1p52 - 0.5);
  // 1024 more in the exponent keep it positive.
  const Places shifted = same_bits<Places>(cells) - root_half + (1024ULL << 52U);
  const Reals exponent = same_bits<Reals>((shifted >> 52U) | whole_bits) - (0x1p52 + 1024 + 32);
  const Reals m = same_bits<Reals>((shifted & 0x000FFFFFFFFFFFFFU) + root_half);
  const Reals s = (m - 1.0) / (m + 1.0);
  const Reals z = s * s;
  Reals p = z * -0.39218168501811071 - 0.44348354398073881;  // 2.7e-14
  p = p * z - 0.57144336034537415;
  p = p * z - 0.79999989744357542;
  p = p * z - 1.3333333335930293;
  p = p * z - 3.9999999999998935;
  const Reals radius = root_of<double>(exponent * -0x1.62e42fefa39efp0 + s * p);
  // Twice k + 1/2, an odd number, less 2^30.
  const Places doubled = angle_word << 1U;
  const Reals t = same_bits<Reals>((doubled & 0x7FFFFFFEU) | (whole_bits | 1U)) - (0x1p52 + 0x1p30);
  const Reals q = t * t;
  // In units of pi/2^32, coefficients of the series of pi/2^32 t.
  Reals sine = q * -0x1.dd4e53dad3d59p-360 + 0x1.5071bed3ced43p-292;  // 4.5e-15
  sine = sine * q - 0x1.32d2c6298a3d1p-225;
  sine = sine * q + 0x1.466bc670fd11ep-159;
  sine = sine * q - 0x1.4abbce62577b9p-94;
  sine = sine * q + 0x1.921fb54442cf8p-31;
  sine = sine * t;
  Reals cosine = q * 0x1.f3c9280db250ap-394 - 0x1.a6c98987cc6ddp-326;  // 5.6e-17
  cosine = cosine * q + 0x1.e1f4fae0f3bbbp-259;
  cosine = cosine * q - 0x1.55d3c7db78381p-192;
  cosine = cosine * q + 0x1.03c1f081affa4p-126;
  cosine = cosine * q - 0x1.3bd3cc9be4580p-62;
  cosine = cosine * q + 1.0;
  // Turned by quarter times pi/2 (and by the pi/4 of the middle, which changes no law): in odd quarters
  // (cos, sin) is (-sin, cos), from the second on both change their sign.
  const Places odd = spread_sign(angle_word << 33U);
  const Places of_sine = same_bits<Places>(sine);
  const Places of_cosine = same_bits<Places>(cosine);
  const Places of_first = (angle_word << 32U) ^ (angle_word << 33U);
  const Reals first =
      same_bits<Reals>(((of_sine & odd) | (of_cosine & ~odd)) ^ (of_first & minus)) * radius;
  const Reals second =
      same_bits<Reals>(((of_cosine & odd) | (of_sine & ~odd)) ^ ((angle_word << 32U) & minus)) *
      radius;
  std::memcpy(cosines, &first, sizeof first);
  std::memcpy(sines, &second, sizeof second);
}

POPGRAD_WIDE
void philox_blocks(const std::array<std::uint32_t, 2>& key, std::array<std::uint32_t, 4> counter,
                   std::size_t groups, std::uint32_t* out) {
  Words<2> both{};
  for (; groups >= 2; groups -= 2, counter[0] += 2 * lanes) {
    blocks<7, 2>(key, counter, both);
    out = write_words<2>(both, out);
  }
  if (groups == 0) return;
  Words<1> words{};
  blocks<7, 1>(key, counter, words);
  write_words<1>(words, out);
}

// Pairs are drawn after all blocks of a part: the rounds of one block, and the series of one pair, wait
// for each other, those of several do not.
POPGRAD_WIDE
void normals_of_words(const std::uint32_t* words, std::size_t groups, double* out) {
  for (std::size_t pair = 0; pair < 2 * groups; ++pair, words += 2 * lanes, out += 2 * lanes) {
    for (std::size_t half = 0; half < lanes; half += places) {
      Halves radius, angle;
      std::memcpy(&radius, words + half, sizeof radius);
      std::memcpy(&angle, words + lanes + half, sizeof angle);
      box_muller(__builtin_convertvector(radius, Places), __builtin_convertvector(angle, Places),
                 out + half, out + lanes + half);
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

POPGRAD_WIDE
void ten_rounds(const std::array<std::uint32_t, 2>& key,
                const std::array<std::uint32_t, 4>& counter, std::uint64_t* out) {
  Words<1> words;
  blocks<10, 1>(key, counter, words);
  for (std::size_t half = 0; half < 2; ++half, out += 2 * places) {
    const Places first = (words[0][half] & low) | (words[1][half] << 32U);
    const Places second = (words[2][half] & low) | (words[3][half] << 32U);
    const Places one = __builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11);
    const Places other = __builtin_shufflevector(first, second, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(out, &one, sizeof one);
    std::memcpy(out + places, &other, sizeof other);
  }
}

}  // namespace

void group_of_words(const std::array<std::uint32_t, 2>& key,
                    const std::array<std::uint32_t, 4>& counter, std::uint64_t* out) {
  ten_rounds(key, counter, out);
}

void philox(const std::array<std::uint32_t, 2>& key, std::array<std::uint32_t, 4> counter,
            std::size_t groups, std::uint32_t* out) {
  philox_blocks(key, counter, groups, out);
}

void normals(const std::uint32_t* words, std::size_t groups, double* out) {
  normals_of_words(words, groups, out);
}

void alias_draws(const std::uint64_t* cells, std::uint64_t size, const std::uint32_t* bits,
                 std::size_t count, std::uint16_t* out) {
  draw_by_alias(cells, size, bits, count, out);
}

}  // namespace popgrad::wide
