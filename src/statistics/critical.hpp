#pragma once
/// Where the probability that a random run succeeds crosses a level as one size grows: a critical
/// batch, width or length.
///
/// Bisection on the logarithm of the size, an ensemble at each; then a logistic curve through all
/// ensembles, P[success] = 1/(1 + exp(-slope (ln size - centre))), by maximum likelihood with half
/// a success and half a failure added to each ensemble, so that certain outcomes have a finite fit.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace popgrad {

/// One ensemble.
struct SuccessCount {
  double size = 0;  ///< > 0
  std::uint32_t runs = 0;
  std::uint32_t successes = 0;
};

struct Crossing {
  bool found = false;  ///< false: no bracket within the range; then `size` is its nearer end
  double size = 0;     ///< where P[success] = level
  double low = 0;      ///< 95 % interval, from the information of the fit (delta method)
  double high = 0;
  double slope = 0;                  ///< of the logistic curve in ln size
  std::vector<SuccessCount> trials;  ///< in the order in which they were run
};

struct CrossingRequest {
  double level = 0.5;   ///< in (0, 1)
  double smallest = 1;  ///< range of sizes, > 0
  double largest = 1e15;
  double first = 1e3;       ///< where to begin
  double factor = 4;        ///< of the steps that look for a bracket, > 1
  int bisections = 4;       ///< of the bracket
  std::uint32_t runs = 40;  ///< of an ensemble
};

/// Successes among `runs` runs numbered from `first_run` at a size.
using CountSuccesses =
    std::function<std::uint32_t(double size, std::uint32_t first_run, std::uint32_t runs)>;

/// Success must grow with the size. Every ensemble has runs of its own.
Crossing find_crossing(const CountSuccesses& count, const CrossingRequest& request);

/// The fit alone, to trials of at least two sizes; another level of trials already made.
Crossing fit_crossing(std::span<const SuccessCount> trials, double level);

/// Slope of ln y in ln x with weights from the intervals of y, and the half width of its 95 %
/// interval, wider where the points scatter by more than their intervals say. At least two points.
struct Exponent {
  double value = 0;
  double half_width = 0;
  /// Sum of squares of (y - fit) over the deviations of y: n - 2 on average, if y is such a power.
  double misfit = 0;
};
Exponent fit_exponent(std::span<const double> x, std::span<const Crossing> y);

/// y = start + slope ln x with the same weights; the deviation of y goes with the fitted y, by as
/// many rounds as it takes. At least two points.
struct LogarithmicGrowth {
  double start = 0;
  double slope = 0;
  double half_width = 0;  ///< of the 95 % interval of the slope
  double misfit = 0;      ///< as above
};
LogarithmicGrowth fit_logarithm(std::span<const double> x, std::span<const Crossing> y);

}  // namespace popgrad
