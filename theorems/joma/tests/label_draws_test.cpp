// What a step of joma draws besides its labels does not depend on the label noise.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/scalars/random.hpp"
#include "theorems/joma/tests/three_classes.hpp"

namespace label_draws_test {

using namespace joma_of_three_classes;

TEST_CASE("joma label noise: classes and tokens drawn are those of no noise", "[joma]") {
  for (const Index length : {0, 3}) {
    const PopulationFlow<double> clean(instance_of(Attention::exp, length, 0));
    const PopulationFlow<double> noisy(instance_of(Attention::exp, length));
    const Vector<double> x = clean.initial();
    // What samples can be: x of a class or of counts, with a label.
    struct Sample {
      Vector<double> x, direction;
      Index label;
    };
    std::vector<Sample> samples;
    for (Index c = 0; c < (length == 0 ? 3 : 1); ++c) {
      for_each_x(clean.instance().token_law.col(c), length, [&](const Vector<double>& of, double) {
        for (Index y = 0; y < 3; ++y) {
          samples.push_back({of, direction_of(clean.instance(), x, y, of), y});
        }
      });
    }
    const auto drawn = [&](const PopulationFlow<double>& flow, std::uint64_t step) {
      Vector<double> direction(x.size());
      Stream stream(7, 2, step);
      flow.sample_rhs(x, direction, stream, 1);
      const auto nearest =
          std::min_element(samples.begin(), samples.end(), [&](const Sample& a, const Sample& b) {
            return (a.direction - direction).norm() < (b.direction - direction).norm();
          });
      REQUIRE((nearest->direction - direction).norm() < 1e-13);
      return *nearest;
    };
    constexpr int steps = 2000;
    int replaced = 0;
    for (std::uint64_t step = 0; step < steps; ++step) {
      const Sample of_clean = drawn(clean, step);
      const Sample of_noisy = drawn(noisy, step);
      CHECK((of_clean.x - of_noisy.x).norm() < 1e-15);
      replaced += of_clean.label != of_noisy.label ? 1 : 0;
    }
    // Two of three replacements are another label.
    const double share = noise * 2 / 3;
    CHECK(std::fabs(replaced - steps * share) < 5 * std::sqrt(steps * share * (1 - share)));
  }
}

}  // namespace label_draws_test
