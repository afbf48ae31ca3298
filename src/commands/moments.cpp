#include "commands/moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "commands/host.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/linear_runs.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad::cli {
namespace {

constexpr std::size_t most_correlated = 2000;  // 100 MB of JSON

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

// Deviations that are left out, one line for each time from which on.
void report_left_out(const Trajectory<double>& run) {
  std::map<std::size_t, std::vector<std::string>> ends;
  for (std::size_t c = 0; c < run.columns.size(); ++c) {
    if (!run.columns[c].ends_with("_sd")) continue;
    const auto end = std::find_if(run.rows.begin(), run.rows.end(),
                                  [c](const auto& row) { return std::isnan(row[c]); });
    if (end == run.rows.end()) continue;
    ends[static_cast<std::size_t>(end - run.rows.begin())].push_back(run.columns[c]);
  }
  for (const auto& [k, columns] : ends) {
    fmt::print(
        standard_error(),
        "popgrad: first and second order differ by half a standard deviation from t = {} on, "
        "left out: {}; take an ensemble there\n",
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

PredictedCorrelations predicted_correlations(const AnyRung<double>& sgd, const std::string& model,
                                             const WalkRequest& request,
                                             const Trajectory<double>& moments) {
  const std::string where = fmt::format("{} moments: --correlations: ", model);
  if (!sgd.draws.covariance || sgd.dimension > largest_full_covariance) {
    throw InputError(fmt::format(
        "{}the state has {} numbers, and its covariance is followed up to {}; give a smaller "
        "instance, or take an ensemble: the rung sgd with --runs 200",
        where, sgd.dimension, largest_full_covariance));
  }
  const std::size_t numbers = request.save_steps.size() * sgd.observables.columns.size();
  if (numbers > most_correlated) {
    throw InputError(
        fmt::format("{}{} rows of {} observables are more than {} numbers; give --save "
                    "{} or fewer",
                    where, request.save_steps.size(), sgd.observables.columns.size(),
                    most_correlated, most_correlated / sgd.observables.columns.size()));
  }
  LinearRunsRequest asked{request.step_size,  static_cast<double>(request.batch),
                          request.save_steps, 0,
                          request.seed,       LinearOrder::second};
  const LinearCovariance found = linear_covariance(sgd, asked);
  Vector<double> deviations = found.covariance.diagonal().cwiseMax(0.0).cwiseSqrt();
  for (Index i = 0; i < deviations.size(); ++i) {
    // Of what is conserved there is rounding alone.
    const auto columns = std::ssize(sgd.observables.columns);
    const double mean =
        moments.rows[static_cast<std::size_t>(i / columns)][static_cast<std::size_t>(i % columns)];
    constexpr double rounding = 1e-9;
    if (!(deviations[i] > rounding * (std::fabs(mean) + 1e-3))) deviations[i] = 0;
  }
  PredictedCorrelations made{sgd.observables.columns, found.t, found.covariance};
  for (Index i = 0; i < deviations.size(); ++i) {
    for (Index j = 0; j < deviations.size(); ++j) {
      const double both = deviations[i] * deviations[j];
      made.correlation(i, j) = both > 0 ? std::clamp(found.covariance(i, j) / both, -1.0, 1.0)
                                        : std::numeric_limits<double>::quiet_NaN();
    }
  }
  return made;
}

void report_limits(const Trajectory<double>& predicted) {
  report_sampling(predicted);
  report_left_out(predicted);
}

}  // namespace popgrad::cli
