#include "report/scb/figures.hpp"

namespace popgrad::report {

const std::vector<FigureMaker>& scb_figures() {
  static const std::vector<FigureMaker> all{training_figure(), longer_training_figure(),
                                            heat_maps_figure(), phase_portrait_figure(),
                                            critical_batch_figure()};
  return all;
}

}  // namespace popgrad::report
