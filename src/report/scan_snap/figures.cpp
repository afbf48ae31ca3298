#include "report/scan_snap/figures.hpp"

#include <string>

#include "popgrad/error.hpp"
#include "popgrad/scan_snap/instance.hpp"
#include "scan_snap/parameters.hpp"

namespace popgrad::report {

std::vector<FigureParameter> growth_parameters() { return {{"M", "1000"}, {"eta_Z", "0.5"}}; }

GrowthSetting growth_setting(const FigureRequest& request) {
  using namespace popgrad::scan_snap;
  const Index least = growth_classes<double>().tokens;
  const Index tokens = read_or(request.parameters, parameter::M, least);
  if (tokens < least) {
    reject("popgrad figure " + request.name, "--M", std::to_string(tokens),
           "must be >= " + std::to_string(least) + ", the tokens that the classes have");
  }
  return {tokens, read<double>(request.parameters, parameter::eta_Z)};
}

const std::vector<FigureMaker>& scan_snap_figures() {
  static const std::vector<FigureMaker> all{
      attention_pattern_figure(), learning_rates_figure(),  growth_factor_figure(),
      growth_exponent_figure(),   decoder_figure(),         class_counts_figure(),
      phase_transition_figure(),  growth_steps_figure(),    rung_distances_figure(),
      frontiers_figure(),         assumption2_map_figure(), residual_figure(),
      text_attention_figure(),
  };
  return all;
}

}  // namespace popgrad::report
