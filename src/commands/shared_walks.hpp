#pragma once
/// The runs of an ensemble among the processes of an mpirun.

#include <vector>

#include "runs/run.hpp"

namespace popgrad::cli {

/// The runs that `walker` would make, bit by bit, in the first process; none in any other, each of which is to call
/// this with the same arguments.
std::vector<Trajectory<double>> walks_of_processes(const Walker& walker, const WalkRequest& request,
                                                   const Report& report);

}  // namespace popgrad::cli
