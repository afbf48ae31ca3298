#include "commands/moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "commands/host.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::cli {
namespace {

// How well deviations are known where the law of one draw is sampled.
void report_sampling(const Trajectory<double>& run) {
  const auto at = std::find(run.columns.begin(), run.columns.end(), "sampling");
  if (at == run.columns.end()) return;
  const auto column = static_cast<std::size_t>(at - run.columns.begin());
  double largest = 0;
  for (const std::vector<double>& row : run.rows) largest = std::max(largest, row[column]);
  fmt::print(standard_error(),
             "popgrad: the law of one draw is known from samples of it: standard deviations to "
             "{:.2g} of themselves\n",
             largest);
}

// Means and deviations that are left out, one line for each time from which on.
void report_left_out(const Trajectory<double>& run) {
  std::map<std::size_t, std::vector<std::string>> ends;
  for (std::size_t c = 0; c < run.columns.size(); ++c) {
    const auto end = std::find_if(run.rows.begin(), run.rows.end(),
                                  [c](const auto& row) { return std::isnan(row[c]); });
    if (end == run.rows.end()) continue;
    ends[static_cast<std::size_t>(end - run.rows.begin())].push_back(run.columns[c]);
  }
  for (const auto& [k, columns] : ends) {
    fmt::print(
        standard_error(),
        "popgrad: orders of the prediction differ by too much, or draws do not show a deviation, "
        "from t = {} on; left out: {}; take an ensemble there\n",
        to_text(run.t[k]), fmt::join(columns, " "));
  }
}

}  // namespace

bool asks_for_rest(const CommonOptions& options, const RungInfo& info) {
  return info.kind == RungKind::moments && options.end == "inf";
}

void check_correlations(const CommonOptions& options, const RungInfo& info) {
  const auto refuse = [&](const std::string& why) {
    throw InputError("popgrad run: --correlations " + why);
  };
  if (info.kind != RungKind::moments) {
    refuse(
        fmt::format("has no meaning for the rung '{}'; it is predicted with moments", info.name));
  }
  if (!options.output.ends_with(".json")) {
    refuse("is written only to JSON; give -o FILE.json, and --save few rows");
  }
  if (options.end == "inf") refuse("is between times; give --t1 a number");
}

void report_limits(const Trajectory<double>& predicted) {
  report_sampling(predicted);
  report_left_out(predicted);
}

}  // namespace popgrad::cli
