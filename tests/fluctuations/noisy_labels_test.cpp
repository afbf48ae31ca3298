#include "fluctuations/noisy_labels.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

namespace noisy_labels_test {

using namespace popgrad;

TEST_CASE("noisy labels: come as often as their law says", "[random]") {
  constexpr Index classes = 5;
  constexpr Index own = 3;
  constexpr double draws = 200'000;
  for (const double noise : {0.0, 0.07, 0.5, 1.0}) {
    Stream stream(3, 1, 4);
    NoisyLabels labels(stream, noise, classes);
    Vector<double> seen = Vector<double>::Zero(classes);
    for (int i = 0; i < static_cast<int>(draws); ++i) seen[labels(own)] += 1;
    double square = 0;
    for (Index y = 0; y < classes; ++y) {
      const double expected = draws * ((y == own ? 1 - noise : 0.0) + noise / classes);
      INFO("noise " << noise << ", label " << y);
      if (expected == 0) CHECK(seen[y] == 0);
      if (expected > 0) square += std::pow(seen[y] - expected, 2) / expected;
    }
    CHECK(square < 18.47);  // chi^2 with 4 degrees of freedom, level 1e-3
  }
}

TEST_CASE(
    "noisy labels: take nothing from the stream, and the more the noise the more are replaced",
    "[random]") {
  Stream stream(3, 1, 4);
  Stream alone = stream;
  NoisyLabels few(stream, 0.2, 4), many(stream, 0.6, 4), other(Stream(3, 1, 5), 0.6, 4);
  int replaced = 0, different = 0;
  for (int i = 0; i < 1000; ++i) {
    constexpr Index none = -1;  // a class that no replacement is
    const Index of_few = few(none);
    const Index of_many = many(none);
    if (of_many == none) CHECK(of_few == none);
    replaced += of_many != none ? 1 : 0;
    different += other(none) != of_many ? 1 : 0;
    CHECK(stream.uniform() == alone.uniform());
  }
  CHECK(replaced > 500);
  CHECK(different > 200);
  // Nor are they made of what others fill from the stream.
  std::array<std::uint32_t, 64> words{};
  Stream(3, 1, 4).fill(words);
  NoisyLabels all(Stream(3, 1, 4), 1, 1 << 20);
  int equal = 0;
  for (std::size_t i = 1; i < words.size(); i += 2) equal += all(0) == words[i] >> 12U ? 1 : 0;
  CHECK(equal == 0);
}

TEST_CASE("noisy labels: the law of pairs of class and label", "[random]") {
  const DrawLaw law{{{0.25, Vector<double>::Constant(2, 0.5)}, {0.75, Vector<double>{{0.9, 0.1}}}},
                    7};
  const DrawLaw pairs = with_noisy_labels(law, 0.4);
  REQUIRE(pairs.classes.size() == 4);
  CHECK(pairs.length == 7);
  const double expected[] = {0.25 * 0.8, 0.25 * 0.2, 0.75 * 0.2, 0.75 * 0.8};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(pairs.classes[i].probability == Approx(expected[i]).epsilon(1e-15));
    CHECK(pairs.classes[i].tokens == law.classes[i / 2].tokens);
  }
  // Too many: none rather than some.
  DrawLaw many{{}, 0};
  many.classes.assign(101, {1.0 / 101, Vector<double>::Constant(1, 1.0)});
  CHECK(with_noisy_labels(many, 0.4).classes.empty());
}

}  // namespace noisy_labels_test
