#include "theorems/topic/rungs/corpus_audit.hpp"

#include <catch2/catch.hpp>

#include "popgrad/scalars/random.hpp"

namespace corpus_audit_test {

using namespace popgrad;
using namespace popgrad::topic;

TEST_CASE("Regression on two regressors: planes, residuals, collinear regressors", "[topic]") {
  const std::vector<double> a{1, 2, 4, 7, 11};
  const std::vector<double> b{3, 3.5, 3, 8, 9};  // goes along with a
  std::vector<double> y;
  for (std::size_t i = 0; i < a.size(); ++i) y.push_back(2 + 3 * a[i] - 0.5 * b[i]);
  const std::optional<Slopes> exact = regression(y, a, b);
  REQUIRE(exact);
  CHECK(exact->first == Approx(3).epsilon(1e-12));
  CHECK(exact->second == Approx(-0.5).epsilon(1e-12));
  // What is left has nothing to do with either regressor.
  Stream stream(1, 2, 3);
  for (double& value : y) value += stream.normal();
  const std::optional<Slopes> noisy = regression(y, a, b);
  REQUIRE(noisy);
  std::vector<double> left;
  double mean = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    left.push_back(y[i] - noisy->first * a[i] - noisy->second * b[i]);
    mean += left.back() / static_cast<double>(a.size());
  }
  double along_a = 0, along_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    along_a += (left[i] - mean) * a[i];
    along_b += (left[i] - mean) * b[i];
  }
  CHECK(along_a == Approx(0).margin(1e-10));
  CHECK(along_b == Approx(0).margin(1e-10));
  std::vector<double> same = a;
  for (double& value : same) value = 5 - 2 * value;
  CHECK_FALSE(regression(y, a, same));
}

}  // namespace corpus_audit_test
