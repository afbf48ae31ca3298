#pragma once
/// What the two kinds of `compare` share.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "commands/options.hpp"
#include "commands/produce.hpp"
#include "io/run_record.hpp"

namespace popgrad::cli {

struct CompareOptions {
  std::shared_ptr<CommonOptions> common;
  std::string first, second, clock;
  std::vector<std::string> with, map, group, suspects;
  double level = 1e-3;
  double resolution = 1e-6;
  bool no_ladder = false;
  bool no_fit = false;
  bool fresh_starts = false;
  bool ensemble = false;  ///< of sampled runs, even where a prediction would do
};

/// Rungs of instances that can be trained, of the ladder that `rung` stands on: those of no special
/// form that a step leads to from it, one way or the other. Empty where it has no such step.
std::set<std::string> rungs_of_training(const Model& model, const std::string& rung);

/// A rung's runs: of a flow one, at `times` if there are any, with tolerances times the factor.
/// Interrupted ones have the rows made so far.
/// With regimes among their events unless the options say not to look for them.
std::vector<Trajectory<double>> produce(const CommonOptions& options, const Model& model,
                                        const RungInfo& info, const Parameters& parameters,
                                        const std::vector<double>& times, double tolerance_factor,
                                        const Report& report);
/// A rung's runs at just these times; those of a walk have to be multiples of its step size. With
/// fresh starts every run has an instance of its own seed, and so a start of its own. Throws Stopped
/// if interrupted.
std::vector<Trajectory<double>> produce_at(const CommonOptions& options, const Model& model,
                                           const RungInfo& info, const Parameters& parameters,
                                           const std::vector<double>& times, const Report& report,
                                           bool fresh_starts = false);
/// The two halves of it for a walk: the steps at which these times are, and its runs.
WalkRequest walk_request_at(const CommonOptions& options, const RungInfo& info,
                            const std::vector<double>& times);
std::vector<Trajectory<double>> walks_at(const CommonOptions& options, const Model& model,
                                         const RungInfo& info, const Parameters& parameters,
                                         WalkRequest request, const Report& report,
                                         bool fresh_starts);

/// How the runs of a rung were made and what became of them, for the record.
RunSide side_of(const CommonOptions& options, const RungInfo& info, const Parameters& parameters,
                const std::vector<Trajectory<double>>& runs);

/// Exit status of runs, told on standard error where one did not reach its end.
int status_of(const std::vector<Trajectory<double>>& runs);
/// Was one of them?
bool was_interrupted(const std::vector<Trajectory<double>>& runs);
/// The runs given. Throws Stopped where one was interrupted, for what needs all of them.
std::vector<Trajectory<double>> uninterrupted(std::vector<Trajectory<double>> runs);
/// Throws std::runtime_error where a run did not reach its end.
void require_ends(const std::vector<Trajectory<double>>& runs);

/// Without events and regimes, for what only asks for rows.
inline CommonOptions without_events(CommonOptions options) {
  options.no_events = true;
  return options;
}

/// `compare MODEL RUNG --with FILE`.
int compare_with_recorded(const Command& command, const CompareOptions& options,
                          const Invocation& call);

}  // namespace popgrad::cli
