#include "popgrad/scalars/random_single.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "popgrad/statistics/statistics.hpp"
#include "problems/like_normals.hpp"

namespace random_single_test {

using namespace popgrad;

namespace {

double below(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

std::vector<float> drawn(std::size_t count, std::uint64_t seed) {
  std::vector<float> z(count);
  Stream stream(seed, 0, 0);
  single_normals(stream, z);
  return z;
}

}  // namespace

TEST_CASE("single normals: those of the same words in double", "[random]") {
  std::vector<double> wide(std::size_t{64} * 4000);
  Stream(0x123456789ABCDEFU, 7, 0x987654321U).normals(wide);
  std::vector<float> single(wide.size());
  Stream stream(0x123456789ABCDEFU, 7, 0x987654321U);
  single_normals(stream, single);
  // A relative error of 2^-24 in u, r^2 = -2 ln u, moves r by 2^-24/r; the series, the root and the products
  // are right to a few 2^-24 of what they give, a number below r.
  double worst = 0;
  for (std::size_t i = 0; i < wide.size(); i += 32) {
    for (std::size_t j = i; j < i + 16; ++j) {
      const double radius = std::hypot(wide[j], wide[j + 16]);
      for (const std::size_t k : {j, j + 16}) {
        worst = std::max(worst, std::fabs(single[k] - wide[k]) / (4 * radius + 1 / radius));
      }
    }
  }
  CHECK(worst < 0x1p-24);
  CHECK(worst > 0x1p-30);
}

TEST_CASE("single normals: the same bits whatever vectors a processor has", "[random]") {
  const std::vector<float> z = drawn(128, 1);
  // From a build for the oldest x86-64 processors; AVX2 and AVX-512 give the same.
  CHECK(z[0] == -0.171512559F);
  CHECK(z[17] == 0.884951591F);
  CHECK(z[64] == 0.322721511F);
}

TEST_CASE("single normals: parts of a stream are what the whole is", "[random]") {
  const std::vector<float> whole = drawn(64 * 19 + 11, 3);
  const Stream start(3, 0, 0);
  std::vector<float> part(64 * 2 + 5);
  Stream further = start.skip(3);
  single_normals(further, part);
  for (std::size_t i = 0; i < part.size(); ++i) CHECK(part[i] == whole[std::size_t{64} * 3 + i]);
  Stream stream = start;
  std::vector<float> again(whole.size());
  single_normals(stream, again);
  CHECK(again == whole);
  // Whole groups are taken, as many as for doubles.
  Stream after = start.skip(Stream::groups(whole.size()));
  CHECK(stream.bits() == after.bits());
}

TEST_CASE("single normals: moments and tails", "[random]") {
  // Beyond 5 there are 2.3 of them.
  problems::check_like_normals(drawn(4'000'000, 5), 5);
}

TEST_CASE("single normals: the law by chi-square and by Kolmogorov", "[random]") {
  constexpr std::size_t count = 1'000'000;
  std::vector<float> z = drawn(count, 6);
  // 200 cells of equal probability.
  constexpr std::size_t cells = 200;
  std::array<double, cells> hits{};
  for (const double x : z) {
    ++hits[std::min(cells - 1, static_cast<std::size_t>(below(x) * cells))];
  }
  double square = 0;
  constexpr double expected = static_cast<double>(count) / cells;
  for (const double hit : hits) square += (hit - expected) * (hit - expected) / expected;
  CHECK(square > chi_square_quantile(cells - 1, 1e-6));
  CHECK(square < chi_square_quantile(cells - 1, 1 - 1e-6));
  // P[sqrt(n) D > x] is below 2 exp(-2 x^2) (Massart): 1e-6 at 2.69.
  std::sort(z.begin(), z.end());
  double distance = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double p = below(z[i]);
    distance = std::max(
        {distance, p - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - p});
  }
  CHECK(distance * std::sqrt(static_cast<double>(count)) < 2.69);
}

}  // namespace random_single_test
