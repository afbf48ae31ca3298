#include "popgrad/statistics/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace popgrad {

double normal_quantile(double p) { return quantile(boost::math::normal(), p); }

double two_sided_normal_bound(double false_alarm, int looks) {
  return -normal_quantile(false_alarm / (2.0 * looks));
}

double fisher_probability(double numerator_freedom, double denominator_freedom, double x) {
  return cdf(boost::math::fisher_f(numerator_freedom, denominator_freedom), x);
}

double fisher_quantile(double numerator_freedom, double denominator_freedom, double p) {
  return quantile(boost::math::fisher_f(numerator_freedom, denominator_freedom), p);
}

Share wilson_interval(double successes, double trials, double level) {
  const double square = std::pow(normal_quantile(1 - level / 2), 2);
  const double center = (successes + square / 2) / (trials + square);
  const double half = std::sqrt(square * (successes * (trials - successes) / trials + square / 4)) /
                      (trials + square);
  return {successes / trials, std::max(0.0, center - half), std::min(1.0, center + half)};
}

Equivalence equivalence(double deviation, double half_width, double resolution) {
  const double size = std::fabs(deviation);
  if (size + half_width <= resolution) return Equivalence::within;
  if (size - half_width > resolution) return Equivalence::beyond;
  return Equivalence::undecided;
}

double runs_needed(double z, double deviation, double half_width) {
  const double root = z * deviation / half_width;
  return std::ceil(root * root);
}

namespace {

// 0-based, ties at their mean.
void rank(std::span<const double> x, std::vector<std::size_t>& order, std::vector<double>& ranks) {
  order.resize(x.size());
  ranks.resize(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j + 1 < order.size() && x[order[j + 1]] == x[order[i]]) ++j;
    for (std::size_t k = i; k <= j; ++k) ranks[order[k]] = 0.5 * static_cast<double>(i + j);
    i = j + 1;
  }
}

}  // namespace

double RankCorrelation::operator()(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3) return std::numeric_limits<double>::quiet_NaN();
  rank(x, order_, x_rank_);
  rank(y, order_, y_rank_);
  const double mean = 0.5 * static_cast<double>(x.size() - 1);
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x_rank_[i] - mean;
    const double dy = y_rank_[i] - mean;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}

double hypergeometric_tail(unsigned seen, unsigned marked, unsigned drawn, unsigned all) {
  const unsigned unmarked = all - marked;
  if (seen == 0 || seen + unmarked <= drawn) return 1;
  if (seen > std::min(marked, drawn)) return 0;
  const boost::math::hypergeometric_distribution<double> law(marked, drawn, all);
  return boost::math::cdf(boost::math::complement(law, static_cast<double>(seen - 1)));
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double two_sided_student_bound(double degrees_of_freedom, double false_alarm, double looks) {
  const boost::math::students_t law(degrees_of_freedom);
  return boost::math::quantile(boost::math::complement(law, false_alarm / (2 * looks)));
}

MeanInterval mean_interval(std::span<const double> values, double level) {
  MeanInterval made;
  made.count = values.size();
  const auto n = static_cast<double>(values.size());
  for (const double v : values) made.value += v / n;
  if (values.size() < 2) {
    made.half_width = HUGE_VAL;
    return made;
  }
  double variance = 0;
  for (const double v : values) variance += (v - made.value) * (v - made.value) / (n - 1);
  made.half_width = two_sided_student_bound(n - 1, level, 1) * std::sqrt(variance / n);
  return made;
}

double chi_square_quantile(double degrees_of_freedom, double p) {
  return quantile(boost::math::chi_squared(degrees_of_freedom), p);
}

}  // namespace popgrad
