#pragma once
/// The figures on scan and snap, one source file each; what they show is said where they are made.

#include <vector>

#include "popgrad/figure.hpp"

namespace popgrad::report {

/// Vocabulary and attention rate of the growth instance.
struct GrowthSetting {
  Index tokens;
  double attention_rate;
};
std::vector<FigureParameter> growth_parameters();
/// Throws InputError if the vocabulary is smaller than the instance.
GrowthSetting growth_setting(const FigureRequest& request);

FigureMaker attention_pattern_figure();
FigureMaker learning_rates_figure();
FigureMaker growth_factor_figure();
FigureMaker growth_exponent_figure();
FigureMaker decoder_figure();
FigureMaker class_counts_figure();
FigureMaker phase_transition_figure();
FigureMaker growth_steps_figure();
FigureMaker rung_distances_figure();
FigureMaker frontiers_figure();
FigureMaker assumption2_map_figure();
FigureMaker residual_figure();
FigureMaker text_attention_figure();

/// In the order of `popgrad list`.
const std::vector<FigureMaker>& scan_snap_figures();

}  // namespace popgrad::report
