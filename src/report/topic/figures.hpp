#pragma once
/// The figures on topic structure, one source file each; what they show is said where
/// they are made.

#include <vector>

#include "popgrad/figure.hpp"

namespace popgrad::report {

/// The law of documents.
inline std::vector<FigureParameter> document_law(const char* topics, const char* active,
                                                 const char* words) {
  return {{"T", topics}, {"tau", active}, {"v", words}, {"p_m"}, {"p_c"}, {"p_r"}};
}

FigureMaker block_patterns_figure();
FigureMaker stages_figure();
FigureMaker landscape_figure();
FigureMaker optimum_figure();
FigureMaker attention_by_kind_figure();
FigureMaker either_alone_figure();
FigureMaker attention_ends_figure();
FigureMaker lda_training_figure();
FigureMaker stage_order_figure();
FigureMaker cooccurrence_figure();
FigureMaker corpus_attention_figure();

/// In the order of `popgrad list`.
const std::vector<FigureMaker>& topic_figures();

}  // namespace popgrad::report
