#pragma once
/// Points of a landscape: where its derivatives vanish, and where training passes.

#include <string>

#include "commands/options.hpp"
#include "popgrad/evidence/landscape.hpp"

namespace popgrad::cli {

/// Prints the critical points in the box, or writes a table of them; the exit status.
int list_critical_points(const CommonOptions& common, const LossLandscape& landscape,
                         const LandscapeLoss& loss, const LandscapeBox& box,
                         const Invocation& call);

/// Trains a rung and writes a table of the points of the plane that are nearest to its states; the exit status.
int trace_path(const std::string& rung, const CommonOptions& common, const LossLandscape& landscape,
               const LandscapeLoss& loss, const Parameters& p, const Invocation& call);

}  // namespace popgrad::cli
