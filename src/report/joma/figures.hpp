#pragma once
/// The figures on JoMA, one source file each; what they show is said where they are made.

#include <vector>

#include "popgrad/figure.hpp"

namespace popgrad::report {

FigureMaker invariant_correlation_figure();
FigureMaker component_growth_figure();
FigureMaker entropy_figure();
FigureMaker salient_first_figure();
FigureMaker audits_figure();
FigureMaker measured_figure();
FigureMaker eqn10_figure();
FigureMaker bounce_figure();
FigureMaker latents_figure();
FigureMaker softmax_growth_figure();
FigureMaker trained_rank_figure();
FigureMaker model_size_figure();
FigureMaker validation_figure();

/// In the order of `popgrad list`.
const std::vector<FigureMaker>& joma_figures();

}  // namespace popgrad::report
