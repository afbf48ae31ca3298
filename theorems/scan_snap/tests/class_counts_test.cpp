#include "theorems/scan_snap/checks/class_counts.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace class_counts_test {

using namespace popgrad;
using namespace popgrad::scan_snap::checks;

TEST_CASE("class counts: laws and quantiles of four draws of two classes", "[scan_snap]") {
  const CountLaw law = binomial_law(4, 0.5);
  CHECK(law.first == 0);
  REQUIRE(law.probability.size() == 5);
  CHECK(law.probability[1] == Approx(4.0 / 16));
  CHECK(expectation(law, [](long n) { return double(n * n); }) == Approx(5));
  const std::vector<double> apart{-2, -1, 0, 1, 2};
  // |count - 2| is 2 with probability 1/8, at least 1 with 5/8.
  CHECK(quantile(law, apart, 0.2) == 1);
  CHECK(quantile(law, apart, 0.1) == 2);
  CHECK(quantile(law, apart, 0.7) == 0);
}

TEST_CASE("class counts: draws until each class has come, by small cases", "[scan_snap]") {
  // Coupon collector: K (1 + 1/2 + ... + 1/K).
  CHECK(mean_draws_for_all(4, 1).value() == Approx(4 * (1 + 0.5 + 1.0 / 3 + 0.25)));
  // Two classes, each twice: 11/2 by first-step analysis of their counts.
  CHECK(mean_draws_for_all(2, 2).value() == Approx(5.5));
  for (const double draws : drawn_for_all(1, 7, 3, 1, 1)) CHECK(draws == 7);
}

TEST_CASE("class counts: noise at the mean count and draws to a norm", "[scan_snap]") {
  const DrawnClasses at{{1000, 0.5}, 4, 4000};
  const CountNoise noise(at);
  REQUIRE(noise.theta.size() == 4001);
  CHECK(noise.theta[0] == -1);
  // h* is within 2 eta_Y/M of h, which is about 13.4/M.
  CHECK(std::fabs(noise.theta[1000]) < 1.0 / 13);
  CHECK(noise.sigma[2000] < 0);
  // The norm that s draws reach takes s draws.
  const long s = discrete_draws_until(at.decoder, 0.02);
  CHECK(static_cast<double>(s) == Approx(draws_until(at.decoder, 0.02)).epsilon(0.05));
}

TEST_CASE("class counts: a sampled quantile encloses the quantile", "[scan_snap]") {
  std::vector<double> uniform;
  for (int i = 0; i < 10'000; ++i) uniform.push_back((i + 0.5) / 10'000);
  const Quantity found = sampled_quantile(uniform, 0.1, 0.05);
  CHECK(std::fabs(found.value() - 0.9) <= found.error());
  // 1.96 standard errors of a share of 0.1.
  CHECK(found.error() == Approx(1.96 * 0.003).epsilon(0.05));
}

}  // namespace class_counts_test
