/// The law of Theorem 2 next to Fig 3's run: one unit against the closed form, known clocks.

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/checks/softmax_growth_parts.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace softmax_growth_test {

using namespace popgrad;
using namespace popgrad::joma;
using namespace popgrad::joma::checks;

namespace {

// One unit that starts at 0, as Theorem 2 has it.
ClassInstance<double> one_unit() {
  ClassInstance<double> instance = invariant_instance(TokenLaw::uniform, 3);
  instance.decoder = Matrix<double>::Zero(instance.classes(), 1);
  for (Index c = 0; c < instance.classes(); ++c) instance.decoder(c, 0) = c % 3 == 0 ? 1 : -0.5;
  instance.weights = Matrix<double>::Zero(instance.weights.rows(), 1);
  instance.logits.setZero();
  return instance;
}

}  // namespace

TEST_CASE("softmax growth: one unit follows erf(v/sqrt tau) up to its blow-up", "[joma]") {
  const ClassInstance<double> instance = one_unit();
  const Vector<double> delta = initial_mean_gradient(instance).col(0);
  const double root = std::sqrt(2.0) * instance.temperature;  // of tau
  const double blow_up = root * std::sqrt(std::numbers::pi) / 2 / delta.cwiseAbs().maxCoeff();
  const GrowthLaw law = growth_law(instance, Attention::exp, 10 * blow_up, 0.5, 1e-10);
  CHECK(law.s.back() < (1 + 1e-9) * blow_up);
  CHECK(law.s.back() > (1 - 1e-6) * blow_up);
  for (std::size_t i = 0; i < law.s.size(); i += 40) {
    for (Index l = 0; l < delta.size(); ++l) {
      const double claimed = 2 * delta[l] * law.s[i] / (root * std::sqrt(std::numbers::pi));
      CHECK(std::erf(law.v[i](l, 0) / root) == Approx(claimed).margin(1e-6));
    }
  }
  // Without the half the exponent is that of half the temperature squared.
  ClassInstance<double> colder = instance;
  colder.temperature /= std::sqrt(2.0);
  const GrowthLaw other = growth_law(colder, Attention::exp, blow_up / 2, 0.5, 1e-10);
  const GrowthLaw doubled = growth_law(instance, Attention::exp, blow_up / 2, 1, 1e-10);
  CHECK((other.v.back() - doubled.v.back()).norm() < 1e-8 * other.v.back().norm());
}

TEST_CASE("softmax growth: a state on the law is found on its clock", "[joma]") {
  const ClassInstance<double> instance = invariant_instance(TokenLaw::gaussian, 1);
  const GrowthLaw law = growth_law(instance, Attention::softmax, 30, 0.5, 1e-9);
  const NearestGrowth exact = nearest(law, law.v[100]);
  CHECK(exact.miss == 0);
  CHECK(exact.s == law.s[100]);
  CHECK(miss_at(law, law.v[100], law.s[100]) == 0);
  // In the middle between two times the parabola finds the way, the grid does not.
  const NearestGrowth between = nearest(law, (law.v[100] + law.v[101]) / 2);
  CHECK(between.miss > 1e-3);
  CHECK(between.miss - between.gap < 1e-3 * between.miss + 1e-4);
  const Vector<double> a = (instance.logits / instance.temperature).array().exp();
  const Matrix<double> delta = a.asDiagonal() * initial_mean_gradient(instance);
  CHECK(nearest_straight(instance, law.v.front() + 7 * delta) < 1e-12);
}

TEST_CASE("softmax growth: where all classes show the same tokens the law is the run", "[joma]") {
  // Logits of the classes stay small, so that E[g x] hardly changes.
  ClassInstance<double> instance;
  instance.attention = Attention::softmax;
  instance.features.residual = false;
  instance.temperature = 0.01;
  instance.token_law = Vector<double>{{0.1, 0.2, 0.3, 0.4}}.replicate(1, 3);
  instance.class_law = Vector<double>{{0.6, 0.3, 0.1}};
  instance.decoder = Vector<double>{{1e-3, -1e-3, 5e-4}};
  instance.weights = Matrix<double>::Zero(4, 1);
  instance.logits = Vector<double>::Zero(4);
  const GrowthRun run = growth_run(instance, 5000, 5000, {1});
  REQUIRE(run.step == std::vector<double>{1860});
  const Matrix<double>& v = run.v.back();
  CHECK((run.attended.back() - v).norm() < 1e-12 * v.norm());
  const double end = growth_step * run.step.back();
  CHECK(miss_at(growth_law(instance, Attention::softmax, end, 0.5, 1e-10), v, end) < 2e-3);
  CHECK(nearest_straight(instance, v) == Approx(0.0509).epsilon(1e-2));
}

TEST_CASE("softmax growth: the run is that of the rung gd", "[joma]") {
  const ClassInstance<double> instance = invariant_instance(TokenLaw::uniform, 2);
  const GrowthRun run = growth_run(instance, 120, 40, {HUGE_VAL});
  REQUIRE(run.step == std::vector<double>{40, 80, 120});
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(instance));
  WalkRequest request;
  request.step_size = growth_step;
  request.steps = 120;
  request.jobs = 1;
  const Vector<double> end = walk(rung, rung.initial, request).front().last_state;
  const Matrix<double> weights =
      end.head(instance.weights.size()).reshaped(instance.weights.rows(), instance.units());
  CHECK((run.v.back() - weights.topRows(instance.tokens())).norm() < 1e-12);
  double least = HUGE_VAL;
  double largest = 0;
  for (Index l = 0; l < instance.tokens(); ++l) {
    const double square = weights.row(l).squaredNorm();
    least = std::fmin(least, square);
    largest = std::fmax(largest, square);
  }
  CHECK(run.range.back() ==
        Approx((largest - least) / (2 * instance.temperature * instance.temperature)));
  // It is saved where each range is reached, and ends at the last.
  const GrowthRun shorter = growth_run(instance, 1000, 1000, {run.range[0], run.range[1]});
  CHECK(shorter.step == std::vector<double>{40, 80});
}

}  // namespace softmax_growth_test
