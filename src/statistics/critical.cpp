#include "statistics/critical.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace popgrad {
namespace {

constexpr double two_sided_95 = 1.959963984540054;

double fraction(const SuccessCount& trial) {
  return static_cast<double>(trial.successes) / static_cast<double>(trial.runs);
}

}  // namespace

Crossing fit_crossing(std::span<const SuccessCount> trials, double level) {
  if (trials.size() < 2) throw std::invalid_argument("fit_crossing: at least two sizes");
  // p = 1/(1 + exp(-(a + b (ln size - middle)))), Newton's method.
  double middle = 0;
  for (const SuccessCount& t : trials)
    middle += std::log(t.size) / static_cast<double>(trials.size());
  double a = 0;
  double b = 1;
  double aa = 0;
  double ab = 0;
  double bb = 0;
  for (int round = 0; round < 100; ++round) {
    double ga = 0;
    double gb = 0;
    aa = ab = bb = 0;
    for (const SuccessCount& t : trials) {
      const double x = std::log(t.size) - middle;
      const double p = 1 / (1 + std::exp(-(a + b * x)));
      const double weight = t.runs + 1.0;
      const double excess = t.successes + 0.5 - weight * p;
      ga += excess;
      gb += excess * x;
      aa += weight * p * (1 - p);
      ab += weight * p * (1 - p) * x;
      bb += weight * p * (1 - p) * x * x;
    }
    const double determinant = aa * bb - ab * ab;
    if (!(determinant > 0)) break;
    // Short steps while far away: the curve saturates.
    double da = (bb * ga - ab * gb) / determinant;
    double db = (aa * gb - ab * ga) / determinant;
    const double longest = std::max(std::fabs(da), std::fabs(db));
    if (longest > 1) {
      da /= longest;
      db /= longest;
    }
    a += da;
    b += db;
    if (longest < 1e-12) break;
  }
  Crossing found;
  found.trials.assign(trials.begin(), trials.end());
  found.slope = b;
  const double determinant = aa * bb - ab * ab;
  found.found = b > 0 && determinant > 0;
  if (!found.found) return found;
  const double logit = std::log(level / (1 - level));
  const double x = (logit - a) / b;
  // Variance of (logit - a)/b by the delta method: gradient (-1/b, -x/b), inverse information
  // [[bb, -ab], [-ab, aa]] over the determinant.
  const double variance = (bb - 2 * ab * x + aa * x * x) / (determinant * b * b);
  const double width = two_sided_95 * std::sqrt(std::max(0.0, variance));
  found.size = std::exp(middle + x);
  found.low = std::exp(middle + x - width);
  found.high = std::exp(middle + x + width);
  return found;
}

Crossing find_crossing(const CountSuccesses& count, const CrossingRequest& request) {
  std::vector<SuccessCount> trials;
  std::uint32_t next_run = 0;
  const auto succeeds = [&](double size) {
    const SuccessCount trial{size, request.runs, count(size, next_run, request.runs)};
    next_run += request.runs;
    trials.push_back(trial);
    return fraction(trial) >= request.level;
  };
  const auto nearest = [&](double size) {
    Crossing none;
    none.size = none.low = none.high = size;
    none.trials = trials;
    return none;
  };
  double low = std::clamp(request.first, request.smallest, request.largest);
  double high = low;
  if (succeeds(low)) {
    do {
      high = low;
      if (low <= request.smallest) return nearest(low);
      low = std::max(request.smallest, low / request.factor);
    } while (succeeds(low));
  } else {
    do {
      low = high;
      if (high >= request.largest) return nearest(high);
      high = std::min(request.largest, high * request.factor);
    } while (!succeeds(high));
  }
  for (int k = 0; k < request.bisections; ++k) {
    const double middle = std::sqrt(low * high);
    (succeeds(middle) ? high : low) = middle;
  }
  return fit_crossing(trials, request.level);
}

namespace {

// Of ln y, from its 95 % interval.
double relative_deviation(const Crossing& y) {
  return std::max(std::log(y.high / y.low) / (2 * two_sided_95), 1e-6);
}

struct Line {
  double start = 0, slope = 0;
  double half_width = 0;  // of the slope; the larger of what deviations say and what scatter says
  double misfit = 0;
};

Line weighted_line(std::span<const double> at, std::span<const double> value,
                   std::span<const double> deviation) {
  double w = 0;
  double wx = 0;
  double wy = 0;
  double wxx = 0;
  double wxy = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double weight = 1 / (deviation[i] * deviation[i]);
    w += weight;
    wx += weight * at[i];
    wy += weight * value[i];
    wxx += weight * at[i] * at[i];
    wxy += weight * at[i] * value[i];
  }
  const double determinant = w * wxx - wx * wx;
  Line line;
  line.slope = (w * wxy - wx * wy) / determinant;
  line.start = (wy - line.slope * wx) / w;
  for (std::size_t i = 0; i < at.size(); ++i) {
    line.misfit += std::pow((value[i] - line.start - line.slope * at[i]) / deviation[i], 2);
  }
  const double inflation =
      at.size() > 2 ? std::max(1.0, line.misfit / static_cast<double>(at.size() - 2)) : 1.0;
  line.half_width = two_sided_95 * std::sqrt(inflation * w / determinant);
  return line;
}

}  // namespace

Exponent fit_exponent(std::span<const double> x, std::span<const Crossing> y) {
  if (x.size() != y.size() || x.size() < 2) {
    throw std::invalid_argument("fit_exponent: at least two points");
  }
  std::vector<double> at;
  std::vector<double> value;
  std::vector<double> deviation;
  for (std::size_t i = 0; i < x.size(); ++i) {
    at.push_back(std::log(x[i]));
    value.push_back(std::log(y[i].size));
    deviation.push_back(relative_deviation(y[i]));
  }
  const Line line = weighted_line(at, value, deviation);
  return {line.slope, line.half_width, line.misfit};
}

LogarithmicGrowth fit_logarithm(std::span<const double> x, std::span<const Crossing> y) {
  if (x.size() != y.size() || x.size() < 2) {
    throw std::invalid_argument("fit_logarithm: at least two points");
  }
  std::vector<double> at;
  std::vector<double> value;
  std::vector<double> deviation;
  for (std::size_t i = 0; i < x.size(); ++i) {
    at.push_back(std::log(x[i]));
    value.push_back(y[i].size);
    deviation.push_back(relative_deviation(y[i]) * y[i].size);
  }
  Line line = weighted_line(at, value, deviation);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      // A fit that falls below 0 somewhere keeps the deviation of the value itself there.
      const double fitted = line.start + line.slope * at[i];
      deviation[i] = relative_deviation(y[i]) * (fitted > 0 ? fitted : y[i].size);
    }
    line = weighted_line(at, value, deviation);
  }
  return {line.start, line.slope, line.half_width, line.misfit};
}

}  // namespace popgrad
