#pragma once
/// Times of regimes as text: one rung, or several in columns.

#include <string>
#include <vector>

#include "popgrad/rungs/regime.hpp"

namespace popgrad {

/// Regimes of one rung, or of runs recorded elsewhere.
struct RungRegimes {
  std::string rung;
  std::vector<RegimeTime> times;
};

/// `12.3452 +- 0.0013`: as many digits as the uncertainty leaves, two of its own.
std::string with_uncertainty(double value, double uncertainty);

/// A row for each regime that any of the rungs shows; for two rungs also how far they are apart,
/// in time and in units of both uncertainties. Nothing if there is no regime.
std::string regime_table(const std::vector<RungRegimes>& rungs, const std::string& indent = "");

}  // namespace popgrad
