#pragma once
/// Slices of the loss of the whole model around what training ends at.

#include <string>

#include "commands/options.hpp"
#include "popgrad/evidence/landscape.hpp"

namespace popgrad::cli {

/// Where errors say that they come from.
inline constexpr const char* popgrad_landscape = "popgrad landscape";

struct SliceOptions {
  std::string around;  ///< rung that is trained; empty: no slice
  int directions = 1;  ///< 1 or 2
  int points = 41;     ///< in each direction
  double span = 1;     ///< in lengths of the parameters
};

/// Trains, evaluates, writes the table and the picture that are asked for; the exit status.
int slice_landscape(const SliceOptions& slice, const CommonOptions& common,
                    const LossLandscape& landscape, const Parameters& p, const Invocation& call);

}  // namespace popgrad::cli
