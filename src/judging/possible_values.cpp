#include "judging/possible_values.hpp"

#include <algorithm>
#include <cmath>

namespace popgrad {

std::optional<RangeEnd> end_before(const Range& range, double value) {
  const double low = range.without_low ? std::nextafter(range.low, range.high) : range.low;
  const double high = range.without_high ? std::nextafter(range.high, range.low) : range.high;
  if (!(value >= low)) {
    return RangeEnd{low, rule_of({.low = range.low, .without_low = range.without_low})};
  }
  if (!(value <= high)) {
    return RangeEnd{high, rule_of({.high = range.high, .without_high = range.without_high})};
  }
  return std::nullopt;
}

SettingEstimate possible_estimate(const Range& possible, const Share& found) {
  const auto [value, low, high] = found;
  const std::optional<RangeEnd> beyond = end_before(possible, value);
  if (beyond && (value < beyond->value ? high < beyond->value : low > beyond->value)) {
    return {std::nullopt, 0, beyond->rule};
  }
  // An end that is not named has no rule to break: an interval without an upper end stays so.
  const auto cut = [&](double x) {
    const std::optional<RangeEnd> end = end_before(possible, x);
    return end && !end->rule.empty() ? end->value : x;
  };
  const Share kept{cut(value), cut(low), cut(high)};
  const bool whole = kept.low == low && kept.high == high && std::isfinite(high);
  return {kept, whole ? (high - low) / 2 : 0, beyond ? beyond->rule : std::string()};
}

}  // namespace popgrad
