#include "popgrad/statistics/statistics.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

namespace statistics_test {

using namespace popgrad;

TEST_CASE("statistics: Wilson's interval covers a share as often as it says", "[statistics]") {
  const Share none = wilson_interval(0, 10, 0.05);
  CHECK(none.low == 0);
  CHECK(none.high == Approx(0.2775).margin(1e-4));  // z^2/(n + z^2)
  // Its ends solve (p_hat - p)^2 = z^2 p (1 - p)/n.
  const Share some = wilson_interval(7, 20, 0.01);
  const double square = std::pow(normal_quantile(0.995), 2);
  for (const double p : {some.low, some.high}) {
    CHECK(std::pow(0.35 - p, 2) == Approx(square * p * (1 - p) / 20));
  }
  CHECK(some.value == 0.35);
  // Exact coverage at p = 0.3 and n = 50, over the binomial law.
  double covered = 0, chance = std::pow(0.7, 50);
  for (int k = 0; k <= 50; ++k) {
    const Share found = wilson_interval(k, 50, 0.05);
    if (found.low <= 0.3 && 0.3 <= found.high) covered += chance;
    chance *= (50.0 - k) / (k + 1.0) * (0.3 / 0.7);
  }
  CHECK(covered == Approx(0.95).margin(0.02));
}

TEST_CASE("Rank correlation: order, ties, constants", "[statistics]") {
  RankCorrelation rank_correlation;
  const std::vector<double> x{1, 2, 3, 4, 5};
  CHECK(rank_correlation(x, std::vector<double>{1, 4, 9, 16, 25}) == Approx(1));
  CHECK(rank_correlation(x, std::vector<double>{5, 4, 3, 2, 1}) == Approx(-1));
  // One swap of neighbours: 1 - 6 * 2 / (5 * 24).
  CHECK(rank_correlation(x, std::vector<double>{1, 2, 3, 5, 4}) == Approx(0.9));
  // Ties at mean ranks 0.5, 0.5, 2, 3, 4: covariance 9.5, variances 10 and 9.5.
  CHECK(rank_correlation(x, std::vector<double>{1, 1, 3, 4, 5}) == Approx(std::sqrt(0.95)));
  CHECK(rank_correlation(x, std::vector<double>{1, 2, 3, 5, 5}) == Approx(std::sqrt(0.95)));
  CHECK(std::isnan(rank_correlation(x, std::vector<double>{1, 1, 1, 1, 1})));
}

TEST_CASE("statistics: quantiles, ranks and equivalence", "[statistics]") {
  CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-12));
  CHECK(two_sided_normal_bound(0.05, 1) == Approx(1.959963984540054).epsilon(1e-12));
  CHECK(chi_square_quantile(10, 0.95) == Approx(18.307038053275146).epsilon(1e-12));
  const std::vector<double> x{1, 2, 3, 4, 5};
  const std::vector<double> y{5, 6, 7, 8, 7};
  // scipy.stats.spearmanr gives 0.8207826816681233.
  CHECK(RankCorrelation()(x, y) == Approx(0.8207826816681233).epsilon(1e-12));
  CHECK(equivalence(0.1, 0.1, 0.5) == Equivalence::within);
  CHECK(equivalence(1.0, 0.1, 0.5) == Equivalence::beyond);
  CHECK(equivalence(0.3, 0.5, 0.5) == Equivalence::undecided);
}

TEST_CASE("statistics: the interval of a mean is Student's", "[statistics]") {
  const std::vector<double> values{1, 3};
  const MeanInterval two = mean_interval(values, 0.05);
  CHECK(two.value == 2);
  CHECK(two.count == 2);
  // Deviation sqrt(2) over sqrt(2) values; with one degree of freedom t is of Cauchy's law.
  CHECK(two.half_width == Approx(std::tan(0.475 * std::numbers::pi)).epsilon(1e-12));
  const std::vector<double> three{1, 3, 8};
  // Sum of squares 26, so a variance of 13; quantile with two degrees at 99.5 %.
  CHECK(mean_interval(three, 0.01).half_width ==
        Approx(9.924843200918307 * std::sqrt(13.0 / 3)).epsilon(1e-12));
  CHECK(std::isinf(mean_interval(std::vector<double>{4}, 0.05).half_width));
  CHECK(mean_interval(std::vector<double>{4}, 0.05).value == 4);
}

TEST_CASE("the hypergeometric tail, counted, and where it is certain or impossible",
          "[statistics]") {
  // 3 of 10 drawn, 4 of 10 marked: C(4, 2) C(6, 1) + C(4, 3) of C(10, 3) draws have two or more.
  CHECK(hypergeometric_tail(2, 4, 3, 10) == Approx((6 * 6 + 4) / 120.0).epsilon(1e-14));
  CHECK(hypergeometric_tail(0, 4, 3, 10) == 1);
  CHECK(hypergeometric_tail(1, 8, 3, 10) == 1);
  CHECK(hypergeometric_tail(4, 4, 3, 10) == 0);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 3);
}

}  // namespace statistics_test
