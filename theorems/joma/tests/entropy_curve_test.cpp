#include "theorems/joma/checks/entropy_curve.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "popgrad/rungs/rung.hpp"

namespace entropy_curve_test {

using namespace popgrad;
using namespace popgrad::joma;
using namespace popgrad::joma::checks;

namespace {

ReducedFlow<double> flow_of(const std::vector<double>& mu, double v0, double tau) {
  ReducedInstance<double> instance;
  const auto d = static_cast<Index>(mu.size());
  instance.target = Eigen::Map<const Matrix<double>>(mu.data(), d, 1);
  instance.start = Matrix<double>::Constant(d, 1, v0);
  instance.logits = Vector<double>::Zero(d);
  instance.tau = tau;
  instance.nonlinear = true;
  instance.attention = Attention::exp;
  return ReducedFlow<double>(instance);
}

}  // namespace

TEST_CASE("the last rise of the entropy keeps its digits near the target", "[joma]") {
  struct Case {
    std::vector<double> mu;
    double v0, time, rate;
  };
  // Rates of 90 digits: each token by t = int dv exp(-v^2/tau)/(mu - v) solved for ln(mu - v).
  for (const Case& known : {Case{{1, 3, 9}, 0.001, 7.59375, 1.3955222175500496},
                            Case{{1, 3, 8}, 0.001, 7.59375, 1.3955224220925001},
                            Case{{1, 2, 8}, 0.1, 7.59375, 1.3955386806385506},
                            Case{{0.01, 0.02, 5}, 0.001, 11.390625, 1.0001088657930860}}) {
    const ReducedFlow<double> flow = flow_of(known.mu, known.v0, 3);
    const AnyRung<double> rung = forget_type(flow);
    const LastRise found = last_rise(flow, rung);
    CAPTURE(known.mu, found.rate.value(), found.rate.error(), found.linearised_rate.value(),
            found.linearised_rate.error());
    REQUIRE(found.time == known.time);
    CHECK(std::fabs(found.rate.value() - known.rate) <= found.rate.error());
    CHECK(found.rate.error() < 1e-6);
    CHECK(std::fabs(found.linearised_rate.value() - known.rate) <=
          found.linearised_rate.error() + found.rate.error());
    CHECK(found.linearised_rate.error() < 1e-3);
  }
}

TEST_CASE("the first fall of the entropy is half the variance of the logits", "[joma]") {
  for (const std::vector<double>& mu :
       {std::vector<double>{1, 3, 9}, std::vector<double>{0.01, 0.02, 5},
        std::vector<double>{1, 1.001, 1.002}}) {
    const ReducedFlow<double> flow = flow_of(mu, 0.001, 3);
    const Quantity found = first_fall(flow, forget_type(flow));
    CAPTURE(mu, found.value(), found.error());
    CHECK(std::fabs(found.value() - 1) <= found.error());
    CHECK(found.error() < 0.1);
  }
}

}  // namespace entropy_curve_test
