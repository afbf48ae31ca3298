#include "popgrad/scalars/random.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "problems/like_normals.hpp"

namespace random_test {

using namespace popgrad;

namespace {

// What `normals` computes, from Random123 itself and the library's functions.
std::vector<double> plain_normals(std::uint64_t seed, std::uint32_t run, std::uint64_t step,
                                  std::uint32_t groups) {
  std::vector<double> out;
  const r123::Philox4x32::key_type key{
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}};
  for (std::uint32_t g = 0; g < groups; ++g) {
    std::vector<double> group(64);
    for (std::uint32_t i = 0; i < 16; ++i) {
      const r123::Philox4x32::ctr_type counter{{16 * g + i, run, static_cast<std::uint32_t>(step),
                                                static_cast<std::uint32_t>(step >> 32U)}};
      const auto words = r123::Philox4x32_R<7>{}(counter, key);
      for (std::size_t pair = 0; pair < 2; ++pair) {
        const double radius = std::sqrt(-2 * std::log((words[2 * pair] + 0.5) * 0x1p-32));
        // The quarters begin at -pi/4.
        const double angle =
            2 * std::numbers::pi * ((words[2 * pair + 1] + 0.5) * 0x1p-32) - std::numbers::pi / 4;
        group[32 * pair + i] = radius * std::cos(angle);
        group[32 * pair + 16 + i] = radius * std::sin(angle);
      }
    }
    out.insert(out.end(), group.begin(), group.end());
  }
  return out;
}

}  // namespace

TEST_CASE("normals: the wide path is the plain one", "[random]") {
  const std::vector<double> plain = plain_normals(0x123456789ABCDEFU, 7, 0x987654321U, 200);
  std::vector<double> fast(plain.size());
  Stream(0x123456789ABCDEFU, 7, 0x987654321U).normals(fast);
  // Remainders of the series, 3e-14 of the logarithm and 5e-15 of the sine, times a radius below 7.
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(fast[i] == Approx(plain[i]).margin(1e-13).epsilon(0));
  }
}

TEST_CASE("normals: the same bits whatever vectors a processor has", "[random]") {
  std::vector<double> z(128);
  Stream(1, 2, 3).normals(z);
  // From a build for the oldest x86-64 processors; AVX2 and AVX-512 give the same.
  CHECK(z[0] == -1.6786935486343619);
  CHECK(z[17] == 1.3806534332212219);
  CHECK(z[64] == -0.61463762127574595);
}

TEST_CASE("normals: parts of a stream are what the whole is", "[random]") {
  std::vector<double> whole(64 * 5 + 11);
  const Stream start(3, 1, 2);
  Stream stream = start;
  stream.normals(whole);
  CHECK(Stream::groups(whole.size()) == 6);
  std::vector<double> part(64 * 2 + 5);
  start.skip(3).normals(part);
  for (std::size_t i = 0; i < part.size(); ++i) CHECK(part[i] == whole[std::size_t{64} * 3 + i]);
  // Whole groups are taken: what follows is the same for 5 groups and a bit as for 6.
  Stream after = start.skip(6);
  CHECK(stream.bits() == after.bits());
}

TEST_CASE("normals: moments and tails", "[random]") {
  std::vector<double> z(4'000'000);
  Stream(5, 0, 0).normals(z);
  problems::check_like_normals(z, 4);
}

TEST_CASE("fill: the wide path is Random123's", "[random]") {
  std::vector<std::uint32_t> bits(64 * 3 + 7);
  Stream(9, 4, 11).fill(bits);
  const r123::Philox4x32::key_type key{{9, 0}};
  for (std::uint32_t i = 0; i < bits.size(); ++i) {
    // Groups of 16 blocks: their first words, then their second ones.
    const r123::Philox4x32::ctr_type counter{{16 * (i / 64) + i % 16, 4, 11, 0}};
    CHECK(bits[i] == r123::Philox4x32_R<7>{}(counter, key)[i % 64 / 16]);
  }
}

TEST_CASE("bits: drawn one at a time they are Random123's, with other draws in between",
          "[random]") {
  Stream stream(0x123456789ABCDEFU, 7, 0x987654321U);
  const r123::Philox4x32::key_type key{{0x89ABCDEFU, 0x1234567U}};
  std::uint32_t next = 0;  // number of the next block
  r123::Philox4x32::ctr_type block{};
  auto plain = [&, used = 2]() mutable {
    if (used == 2) {
      const r123::Philox4x32::ctr_type counter{{next++, 7, 0x87654321U, 0x9U}};
      block = r123::Philox4x32{}(counter, key);
      used = 0;
    }
    const auto at = static_cast<std::size_t>(2 * used++);
    return (std::uint64_t{block[at + 1]} << 32U) | block[at];
  };
  const auto agree = [&](int draws) {
    bool all = true;
    for (int i = 0; i < draws; ++i) all = stream.bits() == plain() && all;
    return all;
  };
  std::vector<double> z(64);
  const AliasTable law(std::vector<double>{0.5, 0.5});
  std::vector<std::uint32_t> counts(2);
  // Counts of either parity, and on both sides of where blocks begin to be made by groups.
  for (const int draws : {3, 4, 1, 31, 32, 17, 100, 1}) {
    CHECK(agree(draws));
    stream.normals(z);
    next += 16;
    CHECK(agree(draws + 1));
    stream.count(law, 7, counts);
    next += 2;
  }
}

TEST_CASE("counts: of draws by Random123's blocks, four a block", "[random]") {
  const AliasTable law(std::vector<double>{0.5, 0.2, 0.0, 0.3});
  const r123::Philox4x32::key_type key{{5, 0}};
  Stream stream(5, 3, 8);
  std::uint32_t next = 0;  // number of the next block
  for (const std::size_t draws : {3U, 19U, 20U, 21U, 63U, 64U, 127U, 150U, 1U}) {
    CAPTURE(draws);
    std::vector<std::uint32_t> counts(4), plain(4);
    stream.count(law, draws, counts);
    for (std::size_t i = 0; i < draws; ++i) {
      const r123::Philox4x32::ctr_type counter{{next + static_cast<std::uint32_t>(i / 4), 3, 8, 0}};
      ++plain[law(r123::Philox4x32{}(counter, key)[i % 4])];
    }
    next += static_cast<std::uint32_t>((draws + 3) / 4);
    CHECK(counts == plain);
  }
}

}  // namespace random_test
