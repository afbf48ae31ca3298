/// What stopping by a width does to an interval.

#include <catch2/catch.hpp>
#include <vector>

#include "commands/sweep_table.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace until_width_test {

using namespace popgrad;

TEST_CASE("sweep: how often an interval that stopped the runs has the share in it", "[cli]") {
  // Exactly, from the law of the successes at every number of runs at which it may stop.
  const auto coverage = [](double p, std::size_t at_a_time, double width) {
    std::vector<double> going{1.0};  // probability of k successes, and that it goes on
    double covered = 0, mass = 0;
    for (std::size_t runs = 0; mass < 1 - 1e-9 && runs < 5000;) {
      for (std::size_t k = 0; k < at_a_time; ++k, ++runs) {
        going.push_back(0);
        for (std::size_t s = going.size(); s-- > 0;) {
          going[s] = going[s] * (1 - p) + (s > 0 ? going[s - 1] * p : 0.0);
        }
      }
      for (std::size_t s = 0; s < going.size(); ++s) {
        if (!cli::narrow_enough(s, runs, width)) continue;
        const Share share =
            wilson_interval(static_cast<double>(s), static_cast<double>(runs), 0.05);
        mass += going[s];
        if (share.low <= p && p <= share.high) covered += going[s];
        going[s] = 0;
      }
    }
    CHECK(mass == Approx(1).margin(1e-8));
    return covered;
  };
  for (const double p : {0.02, 0.1, 0.3, 0.5}) {
    for (const double width : {0.05, 0.1, 0.2}) {
      CAPTURE(p, width);
      const double found = coverage(p, 10, width);
      CHECK(found > 0.93);
      CHECK(found < 0.99);
    }
  }
}

}  // namespace until_width_test
