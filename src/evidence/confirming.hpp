#pragma once
/// An examination, what its exceptions mean, and a second one where it missed.

#include <functional>

#include "popgrad/evidence/statement.hpp"

namespace popgrad {

/// Examines one instance into an examination that is empty.
using Examine = std::function<void(const Setting& setting, Examination& found)>;

/// Sets verdict, examination, failure and confirmation of `finding`. A miss that the second
/// examination does not show again is inconclusive. Cost: one examination; where it misses, a second
/// one with refined solves, draws and limits. In a search an instance on which a quarter of the draws
/// decides nothing is examined again with all.
void judge_with_confirmation(Finding& finding, const Setting& setting, const Examine& examine,
                             bool confirm = true);

}  // namespace popgrad
