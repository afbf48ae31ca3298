#include "report/joma/figures.hpp"

namespace popgrad::report {

const std::vector<FigureMaker>& joma_figures() {
  static const std::vector<FigureMaker> all{
      invariant_correlation_figure(),
      component_growth_figure(),
      entropy_figure(),
      salient_first_figure(),
      audits_figure(),
      measured_figure(),
      eqn10_figure(),
      bounce_figure(),
      latents_figure(),
      softmax_growth_figure(),
      trained_rank_figure(),
      model_size_figure(),
      validation_figure(),
  };
  return all;
}

}  // namespace popgrad::report
