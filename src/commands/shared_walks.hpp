#pragma once
/// The runs of an ensemble among the processes of an mpirun.

#include <vector>

#include "runs/produce.hpp"

namespace popgrad::cli {

/// In the first process: the runs that `walk` would make, bit by bit, with runs that were
/// interrupted as they were at their start.
std::vector<Trajectory<double>> share_walks(const Walker& walker, const WalkRequest& request,
                                            const Report& report);
/// In any other, with the same rung and request.
void serve_walks(const Walker& walker, const WalkRequest& request);

}  // namespace popgrad::cli
