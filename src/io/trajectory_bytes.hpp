#pragma once
/// Trajectories as bytes, for another process on a machine of the same kind: every bit of every
/// number. What is to be kept goes into a checkpoint (io/checkpoint.hpp).

#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

/// All fields but `columns`, which the rung has. Cost: one copy.
std::string bytes_of(const std::vector<Trajectory<double>>& runs);

/// Throws std::runtime_error if the bytes are not those of trajectories.
std::vector<Trajectory<double>> trajectories_from(std::string_view bytes);

}  // namespace popgrad
