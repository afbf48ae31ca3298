#include "report/scan_snap/figures.hpp"

namespace popgrad::report {

const std::vector<FigureMaker>& scan_snap_figures() {
  static const std::vector<FigureMaker> all{
      attention_pattern_figure(), learning_rates_figure(),   growth_factor_figure(),
      decoder_figure(),           phase_transition_figure(), rung_distances_figure(),
      frontiers_figure(),         text_attention_figure(),
  };
  return all;
}

}  // namespace popgrad::report
