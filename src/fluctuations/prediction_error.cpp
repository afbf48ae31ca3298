#include "fluctuations/prediction_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace popgrad {
namespace {

// Of sampled runs, of which there are at least 32: four deviations of theirs, and three and a half.
constexpr double largest_seen = 1.5;
constexpr double largest_apart = 3.5;
constexpr double most_runs_of_apart = 32;

struct Spread {
  double mean = 0, deviation = 0;
};

double skewness_of(const Vector<double>& values) {
  const Vector<double> off = values.array() - values.mean();
  const auto n = static_cast<double>(values.size());
  return off.array().cube().sum() / n / std::pow(off.squaredNorm() / n, 1.5);
}

Spread spread_of(const Vector<double>& values) {
  const double mean = values.mean();
  const auto n = static_cast<double>(values.size());
  return {mean, std::sqrt((values.array() - mean).square().sum() / (n - 1))};
}

}  // namespace

bool PredictionError::holds() const {
  return bias <= largest_neglected && seen <= largest_seen && apart <= largest_apart;
}

Vector<double> second_order_changes(const Matrix<double>& second, const Matrix<double>& first,
                                    double floor) {
  if (first.cols() < 2 || second.cols() < first.cols()) {
    throw std::invalid_argument("second_order_changes: needs two runs of the same draws");
  }
  Vector<double> changes = Vector<double>::Zero(second.rows());
  for (Index k = 0; k < second.rows(); ++k) {
    const double deviation = spread_of(second.row(k)).deviation;
    if (deviation <= floor) continue;
    const Spread before = spread_of(first.row(k));
    const Spread after = spread_of(second.row(k).head(first.cols()));
    changes[k] = std::max(std::fabs(after.mean - before.mean),
                          std::fabs(after.deviation - before.deviation)) /
                 deviation;
    if (!std::isfinite(changes[k])) changes[k] = std::numeric_limits<double>::infinity();
  }
  return changes;
}

PredictionError prediction_error(const PredictedNumber& number) {
  const Spread own = spread_of(number.ensemble);
  const Spread seen = spread_of(number.sampled);
  const auto runs = static_cast<double>(number.sampled.size());
  PredictionError error;
  error.bias = second_order_changes(number.second.transpose(), number.first.transpose(), 0)[0];
  error.seen = seen.deviation / own.deviation;
  const double share = runs / (runs + 1 / (2 * error.bias * error.bias));
  error.wider = std::sqrt(std::max(1.0, 1 - share + share * error.seen * error.seen));
  const double sampling = 1 / runs + 1 / static_cast<double>(number.ensemble.size());
  const double gap = (seen.mean - own.mean) / own.deviation;
  // More sampled runs see smaller errors, which are corrected below.
  const double looked = std::max(sampling, 1 / most_runs_of_apart);
  error.apart = std::fabs(gap) / (error.wider * std::sqrt(looked + error.bias * error.bias));
  const double weight = 1 / (1 + sampling / (error.bias * error.bias));
  error.correction = weight * gap;
  error.unsure = weight * sampling;
  error.skewness = skewness_of(number.sampled);
  error.skewness_error = std::sqrt(6 / runs);
  return error;
}

}  // namespace popgrad
