#include "judging/score_test.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "popgrad/judging/compare.hpp"
#include "popgrad/scalars/random.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad {
namespace {

// Keeps S invertible where rows are combinations of others.
constexpr double least_shrinkage = 1e-3;
// What a normal law has 3 of: more is a rare jump, of which the runs at hand say too little.
constexpr double largest_kurtosis = 10;

double median_skewness(const Matrix<double>& rows) {
  std::vector<double> all;
  for (Index k = 0; k < rows.rows(); ++k)
    all.push_back(std::fabs(shape_of(rows.row(k).transpose()).skewness));
  return median(std::move(all));
}

Matrix<double> about_mean(const Matrix<double>& runs) {
  const Vector<double> mean = runs.rowwise().mean();
  return runs.colwise() - mean;
}

// Standard error of the predicted skewness of a run. Linear runs know that of observables which are curved
// and of squares, not that of single draws, for which this much is allowed.
constexpr double skewness_left_out = 0.3;

// Of a shorter tail: to it the expansion below is within 3 % for squares of normal numbers, from whose
// laws it departs further on.
constexpr double most_negative_skewness = -0.5;

// What x exceeds with half of this probability over what it would if normal; three terms of Cornish and
// Fisher's expansion. With the skewness of -x: what -x exceeds.
double over_normal(double skewness, double excess_kurtosis, double chance) {
  const double z = two_sided_normal_bound(chance, 1);
  const double skew = std::max(most_negative_skewness, skewness);
  const double kurtosis = std::max(0.0, excess_kurtosis);
  const double x = z + (z * z - 1) * skew / 6 + (z * z * z - 3 * z) * kurtosis / 24 -
                   (2 * z * z * z - 5 * z) * skew * skew / 36;
  return x / z;
}

double longer_than_normal(double skewness, double excess_kurtosis, double chance) {
  return std::max(1.0, over_normal(skewness, excess_kurtosis, chance));
}

}  // namespace

Shape shape_of(const Vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const Vector<double> off = values.array() - values.mean();
  const double variance = off.squaredNorm() / n;
  if (!(variance > 0)) return {};
  return {std::sqrt(off.squaredNorm() / (n - 1)),
          off.array().cube().sum() / (n * std::pow(variance, 1.5)),
          off.array().square().square().sum() / (n * variance * variance)};
}

LoggedNumbers::LoggedNumbers(const std::vector<RecordedRun>& recorded,
                             const std::vector<Trajectory<double>>& spread, double resolution) {
  const std::vector<std::string>& columns = recorded.front().columns;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Matrix<double> own = curves(spread, columns[c]);
    Column column{columns[c], false, digits_of(recorded, c)};
    bool positive = own.minCoeff() > 0;
    for (const RecordedRun& run : recorded) {
      for (const double x : run.values[c]) positive = positive && !(x <= 0);
    }
    if (positive) {
      const Matrix<double> logarithms = own.array().log();
      column.logarithm = median_skewness(logarithms) < median_skewness(own);
    }
    columns_.push_back(column);
    const Matrix<double> values = column.logarithm ? Matrix<double>(own.array().log()) : own;
    // Below this it is the recorded numbers' last digits that fluctuate.
    const double floor = 10 * resolution * (column.logarithm ? 1 : own.cwiseAbs().maxCoeff());
    for (Index k = 0; k < values.rows(); ++k) {
      const Shape shape = shape_of(values.row(k).transpose());
      // Rounding of what fluctuates by less would move means.
      const double mean = own.row(k).mean();
      const double unit = column.digits.unit_at(mean) / (column.logarithm ? mean : 1);
      if (!(shape.deviation > std::max(floor, unit)) || !(shape.kurtosis < largest_kurtosis))
        continue;
      const auto row = static_cast<std::size_t>(k);
      const bool logged =
          std::all_of(recorded.begin(), recorded.end(), [&](const RecordedRun& run) {
            return row < run.values[c].size() && !std::isnan(run.values[c][row]);
          });
      if (logged) numbers_.push_back({c, row, shape.deviation});
    }
  }
}

double LoggedNumbers::scaled(const Number& number, double x) const {
  return (columns_[number.column].logarithm ? std::log(x) : x) / number.deviation;
}

Matrix<double> LoggedNumbers::of(const std::vector<RecordedRun>& runs) const {
  std::vector<const RecordedRun*> single;
  for (const RecordedRun& run : runs) {
    if (run.averaged == 1) single.push_back(&run);
  }
  Matrix<double> vectors(size(), std::ssize(single));
  for (Index r = 0; r < vectors.cols(); ++r) {
    for (Index i = 0; i < size(); ++i) {
      const Number& n = numbers_[static_cast<std::size_t>(i)];
      vectors(i, r) = scaled(n, single[static_cast<std::size_t>(r)]->values[n.column][n.row]);
    }
  }
  return vectors;
}

Matrix<double> LoggedNumbers::of(const std::vector<Trajectory<double>>& runs) const {
  std::vector<Matrix<double>> values;
  for (const Column& column : columns_) values.push_back(curves(runs, column.name));
  Matrix<double> vectors(size(), std::ssize(runs));
  for (Index r = 0; r < vectors.cols(); ++r) {
    for (Index i = 0; i < size(); ++i) {
      const Number& n = numbers_[static_cast<std::size_t>(i)];
      const double x = values[n.column](static_cast<Index>(n.row), r);
      vectors(i, r) = scaled(n, columns_[n.column].digits.rounded(x));
    }
  }
  return vectors;
}

Vector<double> LoggedNumbers::level_of(std::size_t column, std::size_t part,
                                       std::size_t parts) const {
  std::vector<Index> own;
  for (Index i = 0; i < size(); ++i) {
    if (numbers_[static_cast<std::size_t>(i)].column == column) own.push_back(i);
  }
  Vector<double> level = Vector<double>::Zero(size());
  for (std::size_t k = part * own.size() / parts; k < (part + 1) * own.size() / parts; ++k) {
    level[own[k]] = 1;
  }
  return level;
}

RunCorrelation RunCorrelation::estimated(const Matrix<double>& runs) {
  if (runs.cols() < 3) throw std::invalid_argument("RunCorrelation: needs at least 3 runs");
  const auto n = static_cast<double>(runs.cols());
  const auto numbers = static_cast<double>(runs.rows());
  const Matrix<double> deviations = about_mean(runs);
  Matrix<double> gram = deviations.transpose() * deviations;
  // Ledoit and Wolf, section 3.3, with C = deviations deviations'/n through the n x n matrix of products.
  const double mean = gram.trace() / (n * numbers);
  const double square = gram.squaredNorm() / (n * n);
  const double apart = square - numbers * mean * mean;
  const double error = (gram.diagonal().squaredNorm() / n - square) / n;
  Estimate made;
  made.shrinkage = apart > 0 ? std::clamp(error / apart, least_shrinkage, 1.0) : 1.0;
  made.factor = std::sqrt((1 - made.shrinkage) / n) * deviations;
  gram *= (1 - made.shrinkage) / n;
  const Matrix<double> identity = Matrix<double>::Identity(runs.cols(), runs.cols());
  made.inner = (made.shrinkage * identity + gram).ldlt().solve(identity);
  return RunCorrelation(std::move(made));
}

RunCorrelation RunCorrelation::predicted(const Matrix<double>& likely, const Matrix<double>& runs,
                                         const Vector<double>& shift) {
  const Matrix<double> deviations = about_mean(likely);
  PrincipalAxes own = principal_axes<double>(deviations * deviations.transpose() /
                                             static_cast<double>(likely.cols() - 1));
  RunCorrelation best(Prediction{std::move(own.vectors), {}});
  auto& [axes, variances] = std::get<Prediction>(best.known_);
  const Vector<double> predicted = own.values.cwiseMax(0.0);
  Vector<double> chosen = predicted;
  double smallest = std::numeric_limits<double>::infinity();
  const double normal = two_sided_normal_bound(typical_chance, 1);
  for (int half_decade = -4; half_decade <= 4; ++half_decade) {
    variances = predicted.array() + predicted.mean() * std::pow(10.0, 0.5 * half_decade);
    const Vector<double> sums = best.weights(shift);
    const Shape shape = shape_of(likely.transpose() * sums);
    const double tail =
        normal * longer_than_normal(std::fabs(shape.skewness), shape.kurtosis - 3, typical_chance);
    const double found =
        about_mean(sums.transpose() * runs).norm() * (tail + normal_quantile(0.95));
    if (!(found < smallest)) continue;
    smallest = found;
    chosen = variances;
  }
  variances = std::move(chosen);
  return best;
}

Vector<double> RunCorrelation::solved(const Vector<double>& shift) const {
  if (const Prediction* known = std::get_if<Prediction>(&known_)) {
    return known->axes * (known->axes.transpose() * shift).cwiseQuotient(known->variances);
  }
  // Woodbury's identity: S^-1 d without S, whose size is that of all rows.
  const Estimate& known = std::get<Estimate>(known_);
  const Vector<double> inside = known.inner * (known.factor.transpose() * shift);
  return (shift - known.factor * inside) / known.shrinkage;
}

Vector<double> RunCorrelation::weights(const Vector<double>& shift) const {
  const Vector<double> sums = solved(shift);
  return sums / shift.dot(sums);
}

Matrix<double> RunCorrelation::uncorrelated(const Matrix<double>& runs) const {
  const Prediction* known = std::get_if<Prediction>(&known_);
  if (known == nullptr) return runs;
  return known->variances.cwiseSqrt().cwiseInverse().asDiagonal() *
         (known->axes.transpose() * runs);
}

double ScoreTest::half_width(double level) const {
  return two_sided_student_bound(degrees_of_freedom, level, 1) * standard_error;
}

double ScoreTest::bound(double chance) const {
  return std::max(bound(chance, Side::above), bound(chance, Side::below));
}

double ScoreTest::bound_here(double chance) const {
  return bound(chance, size < 0 ? Side::below : Side::above);
}

double ScoreTest::over_normal_with_sampled(double sign, double chance) const {
  const double predicted_variance = std::pow(sampled->error_of_prediction, 2);
  const double sampled_variance = std::pow(sampled->error, 2);
  const double weight = predicted_variance / (predicted_variance + sampled_variance);
  const double z = two_sided_normal_bound(chance, 1);
  const double unsure = std::pow((z * z - 1) / 6, 2) * weight * sampled_variance;
  const auto by = [&](const Tail& tail) {
    const double skewness = (1 - weight) * tail.skewness + weight * sampled->value;
    return over_normal(sign * skewness, tail.excess_kurtosis, chance);
  };
  // The runs that weights are made of flatter their tails: the longer of both.
  return std::max(by(*predicted), by(own)) + unsure / 2;
}

double ScoreTest::bound(double chance, Side side) const {
  const auto student = [&](double p) { return two_sided_student_bound(degrees_of_freedom, p, 1); };
  if (predicted) {
    const double sign = side == Side::above ? 1 : -1;
    double longer = over_normal(sign * predicted->skewness, predicted->excess_kurtosis, chance);
    if (sampled) {
      const double wide = over_normal_with_sampled(sign, chance);
      if (wide < 1) {
        const Reached& reached = side == Side::above ? own_above : own_below;
        const auto wider = [&](double t, double p) {
          return t / (student(p) * over_normal_with_sampled(sign, p));
        };
        return student(chance) * wide *
               std::max({1.0, wider(reached.twentieth, 0.1), wider(reached.two_hundredth, 0.01)});
      }
      longer = std::max(longer, over_normal(sign * sampled->value - sampled->error, 0, chance));
    }
    return student(chance) *
           std::max({1.0, longer, own_tenth / student(0.1), own_hundredth / student(0.01)});
  }
  const double reached = own_tenth + (own_hundredth - own_tenth) * std::log10(0.1 / chance);
  return std::max(student(chance), reached);
}

namespace {

// Puts a random choice of `count` first.
void choose(std::vector<Index>& order, Index count, Stream& stream) {
  const auto n = std::ssize(order);
  for (Index i = 0; i < count; ++i) {
    const auto left = static_cast<double>(n - i);
    const Index pick = std::min(n - 1, i + static_cast<Index>(stream.uniform() * left));
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(pick)]);
  }
}

// t of `count` of the values against the others, over random choices.
std::vector<double> own_statistics(const Vector<double>& values, Index count) {
  constexpr std::uint64_t draws = 20'000;
  const Index n = values.size();
  const Vector<double> off = values.array() - values.mean();
  const double squares = off.squaredNorm();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  const auto some = static_cast<double>(count);
  const auto others = static_cast<double>(n - count);
  std::vector<double> found;
  Stream stream(0, 2, 0);
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    double sum = 0, own_squares = 0;
    choose(order, count, stream);
    for (Index i = 0; i < count; ++i) {
      const double x = off[order[static_cast<std::size_t>(i)]];
      sum += x;
      own_squares += x * x;
    }
    // The values are about their mean: the others sum to -sum.
    const double variance = (squares - own_squares - sum * sum / others) / (others - 1);
    if (!(variance > 0)) continue;
    found.push_back((sum / some + sum / others) / std::sqrt(variance * (1 / some + 1 / others)));
  }
  return found;
}

}  // namespace

double bound_of_mean(double skewness, double excess_kurtosis, double runs, double chance) {
  return two_sided_normal_bound(chance, 1) *
         over_normal(skewness / std::sqrt(runs), excess_kurtosis / runs, chance);
}

namespace {

ScoreTest size_and_error(const RunNumbers& numbers, const PredictionError& error) {
  const Vector<double>& own = numbers.ensemble;
  const auto n = static_cast<double>(own.size());
  const auto runs = static_cast<double>(numbers.recorded.size());
  const double variance = (own.array() - own.mean()).square().sum() / (n - 1);
  const double mean = own.mean() + error.correction * std::sqrt(variance);
  ScoreTest test;
  test.sampling = numbers.expected ? 0 : 1 / n + error.unsure;
  test.size = numbers.recorded.mean() - numbers.expected.value_or(mean);
  test.standard_error = error.wider * std::sqrt(variance * (1 / runs + test.sampling));
  test.degrees_of_freedom = n - 1;
  return test;
}

}  // namespace

ScoreTest score_size(const Vector<double>& weights, const Matrix<double>& recorded,
                     const Matrix<double>& ensemble, const PredictionError& error) {
  return size_and_error(
      {recorded.transpose() * weights, ensemble.transpose() * weights, nullptr, {}}, error);
}

ScoreTest score_test(const RunNumbers& numbers, const PredictionError& error) {
  const Vector<double>& own = numbers.ensemble;
  const auto runs = static_cast<double>(numbers.recorded.size());
  ScoreTest test = size_and_error(numbers, error);
  std::vector<double> drawn =
      own_statistics(own, std::clamp<Index>(own.size() / 4, 1, numbers.recorded.size()));
  if (!drawn.empty()) {
    const std::size_t count = drawn.size();
    const auto ranked = [&](std::size_t rank) {
      const auto place = drawn.begin() + static_cast<std::ptrdiff_t>(rank);
      std::nth_element(drawn.begin(), place, drawn.end());
      return *place;
    };
    const std::size_t twentieth = count * 95 / 100, two_hundredth = count * 995 / 1000;
    test.own_above = {ranked(twentieth), ranked(two_hundredth)};
    test.own_below = {-ranked(count - 1 - twentieth), -ranked(count - 1 - two_hundredth)};
    for (double& t : drawn) t = std::fabs(t);
    test.own_tenth = ranked(count * 9 / 10);
    test.own_hundredth = ranked(count * 99 / 100);
  }
  const auto tail = [&](const Vector<double>& values) -> ScoreTest::Tail {
    const Shape one = shape_of(values);
    return {one.skewness / std::sqrt(runs), (one.kurtosis - 3) / runs};
  };
  test.own = tail(own);
  if (numbers.likely != nullptr) test.predicted = tail(*numbers.likely);
  if (error.skewness_error > 0) {
    const double of_mean = 1 / std::sqrt(runs);
    test.sampled = {of_mean * error.skewness, of_mean * error.skewness_error,
                    of_mean * skewness_left_out};
  }
  return test;
}

ScoreTest score_test(const Vector<double>& weights, const Matrix<double>& recorded,
                     const Matrix<double>& ensemble, const Vector<double>* centre,
                     const Matrix<double>* likely, const PredictionError& error) {
  Vector<double> of_likely;
  if (likely != nullptr) of_likely = likely->transpose() * weights;
  RunNumbers numbers{recorded.transpose() * weights,
                     ensemble.transpose() * weights,
                     likely != nullptr ? &of_likely : nullptr,
                     {}};
  if (centre != nullptr) numbers.expected = weights.dot(*centre);
  return score_test(numbers, error);
}

double ScatterTest::chance() const {
  const double below = fisher_probability(recorded_freedom, own_freedom, ratio);
  return std::max(counted, 2 * std::min(below, 1 - below));
}

Share ScatterTest::interval(double level) const {
  const auto at = [&](double p) {
    return ratio / fisher_quantile(recorded_freedom, own_freedom, p);
  };
  return {ratio, at(1 - level / 2), at(level / 2)};
}

ScatterTest ScatterTest::corrected_by(const ScatterTest& sampled) const {
  // The variance of sampled runs is known to their own number of degrees of freedom.
  return {ratio / sampled.ratio, recorded_freedom,
          1 / (1 / own_freedom + 1 / sampled.recorded_freedom)};
}

ScatterTest scatter_test(const Matrix<double>& recorded, const Matrix<double>& ensemble) {
  const auto own_runs = static_cast<double>(ensemble.cols());
  const auto runs = static_cast<double>(recorded.cols());
  const Vector<double> squares = about_mean(ensemble).colwise().squaredNorm();
  const double own = squares.sum() / (own_runs - 1);
  // For a run, the mean square is own * chi^2_f / f with the variance 2 own^2 / f.
  const double spread = (squares.array() - squares.mean()).square().sum() / (own_runs - 1);
  const double freedom = 2 * squares.mean() * squares.mean() / spread;
  ScatterTest test;
  test.own_freedom = (own_runs - 1) * freedom;
  if (runs > 1) {
    test.ratio = about_mean(recorded).squaredNorm() / (runs - 1) / own;
    test.recorded_freedom = (runs - 1) * freedom;
  } else {
    const Vector<double> mean = ensemble.rowwise().mean();
    test.ratio = (recorded.col(0) - mean).squaredNorm() / (1 + 1 / own_runs) / own;
    test.recorded_freedom = freedom;
  }
  return test;
}

double counted_chance(const Matrix<double>& recorded, const Matrix<double>& ensemble) {
  constexpr int choices = 100'000;
  if (4 * recorded.cols() > ensemble.cols()) return 0;
  const Vector<double> mean = ensemble.rowwise().mean();
  // Of one run about the mean of all, of several about their own.
  const auto scatter = [&](const Matrix<double>& runs) {
    return runs.cols() > 1 ? about_mean(runs).squaredNorm() : (runs.col(0) - mean).squaredNorm();
  };
  const double found = scatter(recorded);
  std::vector<Index> order(static_cast<std::size_t>(ensemble.cols()));
  std::iota(order.begin(), order.end(), Index{0});
  Matrix<double> chosen(ensemble.rows(), recorded.cols());
  Stream stream(0, 3, 0);
  int above = 0;
  for (int choice = 0; choice < choices; ++choice) {
    choose(order, chosen.cols(), stream);
    for (Index i = 0; i < chosen.cols(); ++i)
      chosen.col(i) = ensemble.col(order[static_cast<std::size_t>(i)]);
    if (scatter(chosen) >= found) ++above;
  }
  return 2.0 * std::min(above, choices - above) / choices;
}

}  // namespace popgrad
