#pragma once
/// The picture of a sweep.

#include <string>
#include <vector>

#include "commands/sweep_table.hpp"

namespace popgrad::cli {

/// Throws InputError if the first axis, along which a picture is drawn, has words.
void check_drawable(const std::vector<Axis>& axes);

/// Along the first axis, further axes make a curve each: of one run a cell the observables, of an
/// ensemble their medians with 5 and 95 %, and shares with their intervals. `csv` is the whole table.
void draw_sweep(const std::string& csv, const std::vector<Axis>& axes, const CommonOptions& options,
                const std::string& rung, const std::string& command);

}  // namespace popgrad::cli
