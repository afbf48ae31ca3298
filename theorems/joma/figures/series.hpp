#pragma once
/// What the figures of trained models share: steps at which runs are saved, and what several starts
/// have in common.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace popgrad::joma::figures {

/// 0, then ever `factor` times as many, then `last`.
inline std::vector<std::uint64_t> growing_steps(std::uint64_t last, double factor) {
  std::vector<std::uint64_t> found{0};
  for (double step = 1; step < static_cast<double>(last); step *= factor) {
    const auto whole = static_cast<std::uint64_t>(std::llround(step));
    if (whole > found.back()) found.push_back(whole);
  }
  found.push_back(last);
  return found;
}

struct Spread {
  double median, least, largest;
};

/// NaN where a start has no value, as its run diverged.
inline Spread spread(std::vector<double> values) {
  for (const double value : values) {
    if (std::isnan(value)) return {value, value, value};
  }
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return {0.5 * (values[(n - 1) / 2] + values[n / 2]), values.front(), values.back()};
}

}  // namespace popgrad::joma::figures
