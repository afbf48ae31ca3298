#include "judging/cross_check.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "judging/escaped_runs.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace popgrad {
namespace {

// What one observable is measured against.
struct Yardstick {
  std::vector<double> centre, deviation;
  double floor = 0;     // what the precision of the recorded numbers hides
  double sampling = 0;  // variance of the centre, in units of that of a run
  double typical = 0;   // deviation, over rows: of what jumps so rarely that no run here did
  std::vector<double> own_largest;      // of each run of the ensemble
  std::vector<double> sampled_largest;  // of each sampled run, where the ensemble is predicted
  Vector<double> biases;                // of rows; empty where the ensemble is sampled

  [[nodiscard]] double unit(std::size_t k, double averaged) const {
    const double s = k > 0 && deviation[k] <= floor ? typical : deviation[k];
    const auto row = static_cast<Index>(k);
    const double bias = row < biases.size() ? biases[row] : 0;
    return std::sqrt(s * s * (1 / averaged + sampling + bias * bias) + floor * floor);
  }
};

double size_of(const std::vector<double>& values) {
  double size = 0;
  for (const double value : values) size = std::max(size, std::fabs(value));
  return size;
}

Vector<double> biases_of(const std::vector<Trajectory<double>>& second,
                         const std::vector<Trajectory<double>>& first, const std::string& column,
                         double resolution) {
  const Matrix<double> all = curves(second, column);
  return second_order_changes(all, curves(first, column),
                              resolution * all.rowwise().mean().lpNorm<Eigen::Infinity>());
}

// Largest deviation of each run of the ensemble from the others, in its own units.
std::vector<double> largest_of_own(const std::vector<std::vector<double>>& curves, const Band& all,
                                   double floor, double typical) {
  const auto n = static_cast<double>(curves.size());
  std::vector<double> largest_of_runs;
  for (const std::vector<double>& run : curves) {
    double largest = 0;
    for (std::size_t k = 0; k < all.mean.size(); ++k) {
      // Mean and variance of the others, from those of all.
      const double gap = run[k] - all.mean[k];
      const double mean = all.mean[k] - gap / (n - 1);
      const double squares =
          (n - 1) * all.deviation[k] * all.deviation[k] - gap * gap * n / (n - 1);
      double variance = std::max(0.0, squares) / (n - 2);
      if (k > 0 && variance <= floor * floor) variance = typical * typical;
      const double unit = std::sqrt(variance * (1 + 1 / (n - 1)) + floor * floor);
      if (unit > 0) largest = std::max(largest, std::fabs(run[k] - mean) / unit);
    }
    largest_of_runs.push_back(largest);
  }
  return largest_of_runs;
}

// Largest deviation of each of some other runs.
std::vector<double> largest_of(const Matrix<double>& runs, const Yardstick& yard) {
  std::vector<double> largest_of_runs;
  for (Index r = 0; r < runs.cols(); ++r) {
    double largest = 0;
    for (Index k = 0; k < runs.rows(); ++k) {
      const auto row = static_cast<std::size_t>(k);
      const double unit = yard.unit(row, 1);
      if (unit > 0) largest = std::max(largest, std::fabs(runs(k, r) - yard.centre[row]) / unit);
    }
    largest_of_runs.push_back(largest);
  }
  return largest_of_runs;
}

// Of Gumbel's law with this mean and variance: what is exceeded with the given chance.
double gumbel_bound(double mean, double variance, double chance) {
  const double scale = std::sqrt(6 * variance) / std::numbers::pi;
  return mean - std::numbers::egamma * scale - scale * std::log(-std::log1p(-chance));
}

// What the largest deviation of a run exceeds with the given chance, if its logarithm is of Gumbel's
// law with the mean and the variance that it has over the ensemble: then the deviation has a tail
// like a power, which few runs cannot be trusted to have shown.
double bound_on_largest(const std::vector<double>& largest, double chance) {
  double sum = 0, squares = 0, count = 0;
  for (const double x : largest) {
    if (!(x > 0)) continue;
    sum += std::log(x);
    squares += std::log(x) * std::log(x);
    ++count;
  }
  if (count < 3) return 0;
  const double mean = sum / count;
  const double variance = std::max(0.0, (squares - count * mean * mean) / (count - 1));
  return std::exp(gumbel_bound(mean, variance, chance));
}

// The same of a predicted law, whose tails are no longer than exponential, as far as sampled runs agree.
double bound_on_predicted(const std::vector<double>& largest, const std::vector<double>& sampled,
                          double chance) {
  const auto mean_of = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const double mean = mean_of(largest);
  if (!(mean > 0)) return 0;
  double squares = 0;
  for (const double x : largest) squares += (x - mean) * (x - mean);
  const double variance = squares / static_cast<double>(largest.size() - 1);
  return std::max(1.0, mean_of(sampled) / mean) * gumbel_bound(mean, variance, chance);
}

Yardstick yardstick(const std::string& column, const std::vector<Trajectory<double>>& ensemble,
                    const Trajectory<double>* centre, const CrossCheckRequest& request,
                    const WrittenDigits& digits) {
  Yardstick made;
  const Band all = band(ensemble, column);
  const double size = size_of(all.mean);
  // Numbers that are less than the last digit are written as 0, further off by their own size.
  made.floor = std::max(std::min(digits.unit_at(size), size) / 2, request.resolution * size);
  made.centre = centre != nullptr ? curve(*centre, column) : all.mean;
  made.deviation = all.deviation;
  made.sampling = centre != nullptr ? 0 : 1 / static_cast<double>(ensemble.size());
  std::vector<std::vector<double>> own;
  for (const Trajectory<double>& run : ensemble) own.push_back(curve(run, column));
  double squares = 0, rows = 0;
  for (const double s : all.deviation) {
    if (s > made.floor) {
      squares += s * s;
      ++rows;
    }
  }
  made.typical = rows > 0 ? std::sqrt(squares / rows) : 0;
  made.own_largest = largest_of_own(own, all, made.floor, made.typical);
  if (request.predicted == nullptr) return made;
  made.sampled_largest = largest_of(curves(request.predicted->sampled, column), made);
  // What another rung says of the mean has no error of ours.
  if (centre == nullptr) {
    made.biases =
        biases_of(request.predicted->second, request.predicted->first, column, request.resolution);
  }
  return made;
}

}  // namespace

const ColumnCheck* RunCheck::first_departure() const {
  const ColumnCheck* first = nullptr;
  for (const ColumnCheck& column : columns) {
    if (!column.first_outside) continue;
    if (first == nullptr || *column.first_outside < *first->first_outside) first = &column;
  }
  return first;
}

std::pair<const ColumnCheck*, const RunCheck*> CrossCheck::first_departure() const {
  std::pair<const ColumnCheck*, const RunCheck*> first{};
  for (const RunCheck& run : runs) {
    const ColumnCheck* const own = run.first_departure();
    if (own == nullptr) continue;
    if (first.first == nullptr || *own->first_outside < *first.first->first_outside)
      first = {own, &run};
  }
  return first;
}

bool CrossCheck::consistent() const {
  return first_departure().first == nullptr && !escaped.departs;
}

std::optional<double> prediction_ends(const std::vector<Trajectory<double>>& second,
                                      const std::vector<Trajectory<double>>& first,
                                      const std::vector<std::string>& columns, double resolution) {
  const std::vector<double>& times = second.front().t;
  std::size_t end = times.size();
  for (const std::string& column : columns) {
    const Vector<double> biases = biases_of(second, first, column, resolution);
    for (std::size_t k = 0; k < end; ++k) {
      if (!(biases[static_cast<Index>(k)] <= largest_neglected)) end = k;
    }
  }
  if (end == times.size()) return std::nullopt;
  return times[end];
}

namespace {

CrossCheck check_of(const std::vector<RecordedRun>& recorded,
                    const std::vector<Trajectory<double>>& ensemble,
                    const Trajectory<double>* centre, const CrossCheckRequest& request) {
  CrossCheck result;
  std::vector<Yardstick> yardsticks;
  std::vector<double> own_largest(ensemble.size(), 0.0);
  std::vector<double> sampled_largest(
      request.predicted != nullptr ? request.predicted->sampled.size() : 0, 0.0);
  for (const std::string& column : recorded.front().columns) {
    yardsticks.push_back(
        yardstick(column, ensemble, centre, request, digits_of(recorded, yardsticks.size())));
    for (std::size_t r = 0; r < ensemble.size(); ++r) {
      own_largest[r] = std::max(own_largest[r], yardsticks.back().own_largest[r]);
    }
    for (std::size_t r = 0; r < sampled_largest.size(); ++r) {
      sampled_largest[r] = std::max(sampled_largest[r], yardsticks.back().sampled_largest[r]);
    }
  }
  result.own_largest = *std::max_element(own_largest.begin(), own_largest.end());
  for (const RecordedRun& run : recorded) {
    for (const auto& values : run.values) {
      result.looks += static_cast<double>(
          std::count_if(values.begin(), values.end(), [](double x) { return !std::isnan(x); }));
    }
  }
  result.student_bound = two_sided_student_bound(static_cast<double>(ensemble.size() - 1),
                                                 request.false_alarm, std::max(1.0, result.looks));
  const double chance = request.false_alarm / static_cast<double>(recorded.size());
  result.tail_bound = request.predicted != nullptr
                          ? bound_on_predicted(own_largest, sampled_largest, chance)
                          : bound_on_largest(own_largest, chance);
  result.bound = std::max(result.student_bound, result.tail_bound);
  double squares = 0;
  for (const RecordedRun& run : recorded) {
    RunCheck check;
    check.label = run.label;
    for (std::size_t c = 0; c < run.columns.size(); ++c) {
      const Yardstick& yard = yardsticks[c];
      ColumnCheck column;
      column.column = run.columns[c];
      const std::size_t points = std::min(run.t.size(), yard.centre.size());
      double own_squares = 0;
      double seen = 0;
      for (std::size_t k = 0; k < points; ++k) {
        const double gap = run.values[c][k] - yard.centre[k];
        // Where nothing fluctuates and the numbers agree to the last digit.
        const double deviation = gap == 0 ? 0 : gap / yard.unit(k, run.averaged);
        column.deviation.push_back(deviation);
        if (std::isnan(deviation)) continue;
        ++seen;
        own_squares += deviation * deviation;
        if (std::fabs(deviation) > column.largest) {
          column.largest = std::fabs(deviation);
          column.time_of_largest = run.t[k];
        }
        if (std::fabs(deviation) > result.bound && !column.first_outside) {
          column.first_outside = run.t[k];
        }
      }
      if (c < run.gaps.size()) column.gaps = run.gaps[c];
      if (std::optional<double>& end = column.gaps.diverged) {
        const auto at = std::find(run.t.begin(), run.t.end(), *end) - run.t.begin();
        const auto k = static_cast<std::size_t>(at);
        // Where the rung itself has no number, nothing is missed.
        if (k >= points || !std::isfinite(yard.centre[k])) end.reset();
        if (end) column.first_outside = std::min(column.first_outside.value_or(*end), *end);
      }
      column.root_mean_square = seen > 0 ? std::sqrt(own_squares / seen) : 0;
      squares += own_squares;
      check.columns.push_back(std::move(column));
    }
    result.runs.push_back(std::move(check));
  }
  result.root_mean_square = std::sqrt(squares / std::max(1.0, result.looks));
  return result;
}

}  // namespace

CrossCheck cross_check(const std::vector<RecordedRun>& recorded,
                       const std::vector<Trajectory<double>>& ensemble,
                       const Trajectory<double>* centre, const CrossCheckRequest& request) {
  if (ensemble.size() < 3) throw std::invalid_argument("cross_check: needs an ensemble of >= 3");
  if (recorded.empty()) throw std::invalid_argument("cross_check: there is no recorded run");
  // Tails of a predicted law are known.
  if (request.predicted != nullptr) return check_of(recorded, ensemble, centre, request);
  const Escapes run = escapes(recorded, ensemble, request.resolution, request.false_alarm);
  if (run.found.own == 0) return check_of(recorded, ensemble, centre, request);
  std::vector<Trajectory<double>> compared;
  for (std::size_t r = 0; r < ensemble.size(); ++r) {
    if (run.found.recorded > 0 || !run.own[r]) compared.push_back(ensemble[r]);
  }
  CrossCheck result = check_of(recorded, compared, centre, request);
  result.escaped = run.found;
  return result;
}

}  // namespace popgrad
