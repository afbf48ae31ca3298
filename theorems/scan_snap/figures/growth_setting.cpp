#include "theorems/scan_snap/figures/growth_setting.hpp"

#include <string>

#include "popgrad/base/error.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/parameters.hpp"

namespace popgrad::scan_snap::figures {

std::vector<FigureParameter> growth_parameters() {
  namespace parameter = parameter;
  return {{parameter::M, "1000"}, {parameter::eta_Z, "0.5"}};
}

GrowthSetting growth_setting(const FigureRequest& request) {
  const Index least = growth_classes<double>().tokens;
  const Index tokens = read_or(request.parameters, parameter::M, least);
  if (tokens < least) {
    reject("popgrad figure " + request.name, "--M", std::to_string(tokens),
           "must be >= " + std::to_string(least) + ", the tokens that the classes have");
  }
  return {tokens, read<double>(request.parameters, parameter::eta_Z)};
}

}  // namespace popgrad::scan_snap::figures
