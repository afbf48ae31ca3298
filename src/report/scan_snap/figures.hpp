#pragma once
/// The figures on scan and snap, one source file each; what they show is said where they are made.

#include <vector>

#include "popgrad/figure.hpp"

namespace popgrad::report {

FigureMaker attention_pattern_figure();
FigureMaker learning_rates_figure();
FigureMaker growth_factor_figure();
FigureMaker decoder_figure();
FigureMaker phase_transition_figure();
FigureMaker rung_distances_figure();
FigureMaker frontiers_figure();
FigureMaker text_attention_figure();

/// In the order of `popgrad list`.
const std::vector<FigureMaker>& scan_snap_figures();

}  // namespace popgrad::report
