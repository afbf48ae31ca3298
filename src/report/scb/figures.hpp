#pragma once
/// The figures on sparse contextual bigrams, one source file each; what they show is said where
/// they are made.

#include <vector>

#include "popgrad/figure.hpp"

namespace popgrad::report {

FigureMaker training_figure();
FigureMaker longer_training_figure();
FigureMaker heat_maps_figure();
FigureMaker phase_portrait_figure();
FigureMaker critical_batch_figure();
FigureMaker starts_figure();
FigureMaker context_size_figure();
FigureMaker vocabulary_figure();
FigureMaker success_grid_figure();
FigureMaker softmax_patterns_figure();
FigureMaker sample_complexity_figure();

/// In the order of `popgrad list`.
const std::vector<FigureMaker>& scb_figures();

}  // namespace popgrad::report
