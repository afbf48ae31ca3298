#pragma once
/// Points of a landscape: where its derivatives vanish, and where training passes.

#include <functional>
#include <string>
#include <vector>

#include "commands/options.hpp"
#include "popgrad/evidence/landscape.hpp"

namespace popgrad::cli {

/// Prints the critical points in the box, or writes a table of them; the exit status.
int list_critical_points(const CommonOptions& common, const LossLandscape& landscape,
                         const LandscapeLoss& loss, const LandscapeBox& box,
                         const Invocation& call);

/// Trains a rung and writes a table of the points of the plane that are nearest to its states, or with --plot draws
/// them; the exit status.
int trace_path(const std::string& rung, const CommonOptions& common, const LossLandscape& landscape,
               const LandscapeLoss& loss, const Parameters& p, const Invocation& call,
               const std::function<void(const std::vector<LandscapeNearest>&)>& draw);

}  // namespace popgrad::cli
