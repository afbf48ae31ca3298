#include "fluctuations/prediction_error.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "popgrad/scalars/random.hpp"

namespace prediction_error_test {

using namespace popgrad;

namespace {

// Normal numbers of this mean and deviation.
Vector<double> normals(std::uint64_t seed, Index count, double mean, double deviation) {
  Vector<double> made(count);
  Stream stream(seed, 9, 0);
  for (double& x : made) x = mean + deviation * stream.normal();
  return made;
}

double deviation_of(const Vector<double>& x) {
  return std::sqrt((x.array() - x.mean()).square().sum() / static_cast<double>(x.size() - 1));
}

}  // namespace

TEST_CASE("prediction error: what an order changes, from equal draws", "[score]") {
  Matrix<double> second(4, 400);
  for (Index k = 0; k < 4; ++k) second.row(k) = normals(k == 3 ? 9 : 1, 400, 5, 2);
  second.row(2).setConstant(7);
  // A mean that is lower by 0.3, a deviation smaller by a fifth, a number that does not fluctuate.
  Matrix<double> first = second.leftCols(50);
  first.row(0).array() -= 0.3;
  first.row(1) = (first.row(1).array() - first.row(1).mean()) * 0.8 + first.row(1).mean();
  const Vector<double> changes = second_order_changes(second, first, 1e-6);
  CHECK(changes[0] == Approx(0.3 / deviation_of(second.row(0))).epsilon(1e-12));
  CHECK(changes[1] ==
        Approx(0.2 * deviation_of(second.row(1).head(50)) / deviation_of(second.row(1)))
            .epsilon(1e-12));
  CHECK(changes[2] == 0);
  CHECK(changes[3] == 0);
  CHECK(second_order_changes(second, first, 10).isZero(0));
  first(0, 3) = NAN;
  second(1, 300) = INFINITY;
  const Vector<double> broken = second_order_changes(second, first, 1e-6);
  CHECK(std::isinf(broken[0]));
  CHECK(std::isinf(broken[1]));
  CHECK_THROWS_AS(second_order_changes(first, second, 0), std::invalid_argument);
}

TEST_CASE("prediction error: sampled runs widen it as far as the orders leave it open", "[score]") {
  PredictedNumber number{normals(1, 1000, 0, 1), normals(2, 500, 0, 1), {}, normals(3, 32, 0, 1)};
  number.first = number.second.head(100).array() + 0.1;
  const double own = deviation_of(number.ensemble);
  const PredictionError same = prediction_error(number);
  const double bias = 0.1 / deviation_of(number.second);
  CHECK(same.bias == Approx(bias).epsilon(1e-12));
  CHECK(same.seen == Approx(deviation_of(number.sampled) / own).epsilon(1e-12));
  CHECK(same.holds());
  const Vector<double> off = number.sampled.array() - number.sampled.mean();
  CHECK(same.skewness ==
        Approx(std::sqrt(32.0) * off.array().cube().sum() / std::pow(off.squaredNorm(), 1.5))
            .epsilon(1e-12));
  CHECK(same.skewness_error == Approx(std::sqrt(6.0 / 32)).epsilon(1e-12));
  CHECK(PredictionError{}.skewness_error == 0);
  number.sampled *= 1.4 / same.seen;
  const PredictionError wide = prediction_error(number);
  // 32 sampled runs that vary 1.96 times as much, and a variance that is as if known from 1/(2 bias^2).
  const double predicted = 1 / (2 * bias * bias);
  CHECK(wide.wider == Approx(std::sqrt((predicted + 32 * 1.96) / (predicted + 32))).epsilon(1e-12));
  CHECK(wide.holds());
  number.sampled *= 1.2;
  CHECK_FALSE(prediction_error(number).holds());
  number.sampled *= 0.2;
  CHECK(prediction_error(number).wider == 1);
  // A mean that is 5 of its errors away, sqrt(1/32 + 1/1000 + bias^2).
  number.sampled.array() += number.ensemble.mean() - number.sampled.mean() +
                            5 * own * std::sqrt(1.0 / 32 + 1.0 / 1000 + bias * bias);
  const PredictionError apart = prediction_error(number);
  CHECK(apart.apart == Approx(5).epsilon(1e-12));
  CHECK_FALSE(apart.holds());
  // By Bayes' rule from a variance of bias^2 and one of the means of sampled and of predicted runs.
  const double sampling = 1.0 / 32 + 1.0 / 1000;
  const double weight = bias * bias / (bias * bias + sampling);
  CHECK(apart.correction == Approx(weight * 5 * std::sqrt(sampling + bias * bias)).epsilon(1e-9));
  CHECK(apart.unsure == Approx(weight * sampling).epsilon(1e-12));
  // Of more sampled runs the same distance is as many errors: what they see beyond 32 is corrected.
  number.sampled = normals(3, 320, 0, 1);
  number.sampled.array() += number.ensemble.mean() - number.sampled.mean() + 0.5 * own;
  const PredictionError many = prediction_error(number);
  CHECK(many.apart == Approx(0.5 / (many.wider * std::sqrt(1.0 / 32 + bias * bias))).epsilon(1e-9));
  CHECK(many.holds());
  CHECK(many.correction > apart.correction * 0.5 / (5 * std::sqrt(sampling + bias * bias)));
  number.sampled = normals(3, 32, 0, 1);
  number.first.array() += 0.3;
  CHECK_FALSE(prediction_error(number).holds());
}

}  // namespace prediction_error_test
