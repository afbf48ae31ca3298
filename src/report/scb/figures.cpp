#include "report/scb/figures.hpp"

namespace popgrad::report {

const std::vector<FigureMaker>& scb_figures() {
  static const std::vector<FigureMaker> all{training_figure(),         longer_training_figure(),
                                            heat_maps_figure(),        phase_portrait_figure(),
                                            critical_batch_figure(),   transfer_batch_figure(),
                                            stage_samples_figure(),    starts_figure(),
                                            starts_order_figure(),     context_size_figure(),
                                            vocabulary_figure(),       success_grid_figure(),
                                            softmax_patterns_figure(), sample_complexity_figure(),
                                            softmax_stage_figure()};
  return all;
}

}  // namespace popgrad::report
