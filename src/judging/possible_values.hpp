#pragma once
/// Estimates of settings, kept to the values that a setting may have.

#include <optional>
#include <string>

#include "popgrad/base/range.hpp"
#include "popgrad/judging/judgement.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace popgrad {

/// The end of a range that a value lies beyond, as a number within the range.
struct RangeEnd {
  double value = 0;
  std::string rule;  ///< ">= 0", "< 1"; empty for the ends of all numbers
};
std::optional<RangeEnd> end_before(const Range& range, double value);

/// Cuts an estimate and its interval to the range. An interval that lies beyond it leaves only the rule that it breaks.
SettingEstimate possible_estimate(const Range& possible, const Share& found);

}  // namespace popgrad
