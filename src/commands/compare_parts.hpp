#pragma once
/// What the two kinds of `compare` share.

#include <memory>
#include <string>
#include <vector>

#include "commands/options.hpp"
#include "io/run_record.hpp"
#include "runs/runs_of_rung.hpp"

namespace popgrad::cli {

struct CompareOptions {
  std::shared_ptr<CommonOptions> common;
  std::string first, second, clock, restarts;
  std::vector<std::string> with, map, group, suspects;
  double level = 1e-3;
  double resolution = 1e-6;
  bool details = false;
  bool runs_in_columns = false;
  bool no_ladder = false;
  bool no_fit = false;
  bool fresh_starts = false;
  bool ensemble = false;  ///< of sampled runs, even where a prediction would do
};

/// A rung's runs: of a flow one, at `times` if there are any, with tolerances times the factor.
/// Interrupted ones have the rows made so far.
/// With regimes among their events unless the options say not to look for them.
std::vector<Trajectory<double>> produce(const CommonOptions& options, const Model& model,
                                        const RungInfo& info, const Parameters& parameters,
                                        const std::vector<double>& times, double tolerance_factor,
                                        const Report& report);
/// A rung's runs at just these times; those of a walk have to be multiples of its step size. Throws
/// Stopped if interrupted.
std::vector<Trajectory<double>> produce_at(const CommonOptions& options, const Model& model,
                                           const RungInfo& info, const Parameters& parameters,
                                           const std::vector<double>& times, const Report& report);
/// Of it for a walk: the steps at which these times are.
WalkRequest walk_request_at(const CommonOptions& options, const RungInfo& info,
                            const std::vector<double>& times);

/// How the runs of a rung were made and what became of them, for the record.
RunSide side_of(const CommonOptions& options, const RungInfo& info, const Parameters& parameters,
                const std::vector<Trajectory<double>>& runs);

/// Exit status of runs; the first that did not reach its end is named on standard error, and in results
/// if not null.
int status_of(const std::vector<Trajectory<double>>& runs, Results* results);

/// What options say of how runs are made.
inline RunChoices choices_of(const CommonOptions& options) { return {!options.no_events}; }
/// Without events and regimes, for what only asks for rows.
inline CommonOptions without_events(CommonOptions options) {
  options.no_events = true;
  return options;
}

/// `compare MODEL RUNG --with FILE`.
int compare_with_recorded(const Command& command, const CompareOptions& options,
                          const Invocation& call);

}  // namespace popgrad::cli
