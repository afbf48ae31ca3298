#include "popgrad/judging/compare.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "scalars/softmax.hpp"

namespace popgrad {

Distance distance(const std::string& column, std::span<const double> times,
                  std::span<const double> a, std::span<const double> b) {
  Distance result;
  result.column = column;
  const std::size_t n = std::min({times.size(), a.size(), b.size()});
  if (n == 0) throw std::invalid_argument("distance: the curves have no time in common");
  double size = 0;
  double squares = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double gap = std::fabs(a[k] - b[k]);
    if (!(gap <= result.largest)) {
      result.largest = gap;
      result.time_of_largest = times[k];
    }
    size = std::max(size, std::fabs(b[k]));
    squares += gap * gap;
  }
  result.root_mean_square = std::sqrt(squares / static_cast<double>(n));
  result.relative = size > 0 ? result.largest / size : 0;
  return result;
}

std::vector<double> curve(const Trajectory<double>& trajectory, const std::string& column) {
  const auto found = std::find(trajectory.columns.begin(), trajectory.columns.end(), column);
  if (found == trajectory.columns.end()) {
    throw std::invalid_argument("curve: there is no column " + column);
  }
  const auto c = static_cast<std::size_t>(found - trajectory.columns.begin());
  std::vector<double> values;
  values.reserve(trajectory.rows.size());
  for (const std::vector<double>& row : trajectory.rows) values.push_back(row[c]);
  return values;
}

Matrix<double> curves(const std::vector<Trajectory<double>>& runs, const std::string& column) {
  Matrix<double> made(std::ssize(runs.front().rows), std::ssize(runs));
  for (Index r = 0; r < made.cols(); ++r) {
    const std::vector<double> values = curve(runs[static_cast<std::size_t>(r)], column);
    if (std::ssize(values) != made.rows()) {
      throw std::invalid_argument("curves: runs have different numbers of rows");
    }
    made.col(r) = Eigen::Map<const Vector<double>>(values.data(), made.rows());
  }
  return made;
}

Band band(const std::vector<Trajectory<double>>& runs, const std::string& column) {
  Band result;
  result.runs = runs.size();
  std::size_t points = runs.front().rows.size();
  for (const Trajectory<double>& run : runs) points = std::min(points, run.rows.size());
  result.mean.assign(points, 0);
  result.deviation.assign(points, 0);
  // Welford's update: no cancellation where the spread is small against the mean.
  double count = 0;
  for (const Trajectory<double>& run : runs) {
    ++count;
    const std::vector<double> values = curve(run, column);
    for (std::size_t k = 0; k < points; ++k) {
      const double gap = values[k] - result.mean[k];
      result.mean[k] += gap / count;
      result.deviation[k] += gap * (values[k] - result.mean[k]);
    }
  }
  for (double& d : result.deviation) d = count > 1 ? std::sqrt(d / (count - 1)) : 0;
  return result;
}

ClockFit deviation_at(double factor, std::span<const double> times, std::span<const double> values,
                      std::span<const double> recorded_times, std::span<const double> recorded) {
  ClockFit fit;
  fit.factor = factor;
  Vector<double> computed(static_cast<Index>(recorded.size()));
  double squares = 0;
  for (std::size_t k = 0; k < recorded.size(); ++k) {
    const double t = factor * recorded_times[k];
    const auto after = std::upper_bound(times.begin(), times.end(), t) - times.begin();
    const auto at = static_cast<std::size_t>(after);
    double value = 0;
    if (at == 0) {
      value = values.front();
    } else if (at == times.size()) {
      value = values.back();
    } else {
      const double share = (t - times[at - 1]) / (times[at] - times[at - 1]);
      value = values[at - 1] + share * (values[at] - values[at - 1]);
    }
    computed[static_cast<Index>(k)] = value;
    const double gap = std::fabs(value - recorded[k]);
    squares += gap * gap;
    if (gap > fit.largest) {
      fit.largest = gap;
      fit.time_of_largest = recorded_times[k];
    }
  }
  fit.root_mean_square = std::sqrt(squares / static_cast<double>(recorded.size()));
  const Vector<double> measured =
      Eigen::Map<const Vector<double>>(recorded.data(), static_cast<Index>(recorded.size()));
  fit.correlation = correlation<double>(measured, computed);
  return fit;
}

ClockFit fit_clock(std::span<const double> times, std::span<const double> values,
                   std::span<const double> recorded_times, std::span<const double> recorded) {
  const double recorded_end = recorded_times.empty() ? 0 : recorded_times.back();
  if (!(recorded_end > 0)) throw std::invalid_argument("fit_clock: recorded times must reach > 0");
  const double natural = times.back() / recorded_end;
  const auto miss = [&](double log_factor) {
    return deviation_at(std::exp(log_factor), times, values, recorded_times, recorded)
        .root_mean_square;
  };
  constexpr int grid = 300;
  const double low = std::log(natural * 1e-4);
  const double high = std::log(natural * 1e2);
  double best = low;
  for (int k = 0; k <= grid; ++k) {
    const double candidate = low + (high - low) * k / grid;
    if (miss(candidate) < miss(best)) best = candidate;
  }
  double a = best - (high - low) / grid;
  double b = best + (high - low) / grid;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < 40; ++i) {
    const double c = b - golden * (b - a);
    const double d = a + golden * (b - a);
    (miss(c) < miss(d) ? b : a) = miss(c) < miss(d) ? d : c;
  }
  const double middle = (a + b) / 2;
  return deviation_at(std::exp(miss(middle) < miss(best) ? middle : best), times, values,
                      recorded_times, recorded);
}

}  // namespace popgrad
