#pragma once
/// The figures on sparse contextual bigrams, one source file each; what they show is said where
/// they are made.

#include <vector>

#include "popgrad/figure.hpp"

namespace popgrad::report {

/// The data law drawn at these sizes, or the user's own.
inline std::vector<FigureParameter> data_law(const char* tokens, const char* context,
                                             const char* support) {
  return {{"N", tokens}, {"T", context}, {"Q", support}, {"P"}, {"mu"}, {"q"}};
}

FigureMaker training_figure();
FigureMaker longer_training_figure();
FigureMaker heat_maps_figure();
FigureMaker phase_portrait_figure();
FigureMaker critical_batch_figure();
FigureMaker transfer_batch_figure();
FigureMaker stage_samples_figure();
FigureMaker starts_figure();
FigureMaker starts_order_figure();
FigureMaker context_size_figure();
FigureMaker vocabulary_figure();
FigureMaker success_grid_figure();
FigureMaker softmax_patterns_figure();
FigureMaker softmax_stage_figure();
FigureMaker sample_complexity_figure();

/// In the order of `popgrad list`.
const std::vector<FigureMaker>& scb_figures();

}  // namespace popgrad::report
