#include "report/topic/figures.hpp"

namespace popgrad::report {

const std::vector<FigureMaker>& topic_figures() {
  static const std::vector<FigureMaker> all{block_patterns_figure(),    stages_figure(),
                                            landscape_figure(),         optimum_figure(),
                                            attention_by_kind_figure(), either_alone_figure(),
                                            attention_ends_figure(),    lda_training_figure(),
                                            stage_order_figure(),       cooccurrence_figure(),
                                            corpus_attention_figure()};
  return all;
}

}  // namespace popgrad::report
