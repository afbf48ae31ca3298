#include "theorems/scan_snap/figures/growth_setting.hpp"

#include <fmt/format.h>

#include "popgrad/base/error.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/rungs/parameters.hpp"

namespace popgrad::scan_snap::figures {

std::vector<FigureParameter> growth_parameters() {
  namespace parameter = parameter;
  return {{parameter::M, "1000"}, {parameter::eta_Z, "0.5"}};
}

TrainingInstance<double> growth_instance(const FigureRequest& request, double decoder_rate) {
  TrainingInstance<double> instance;
  instance.classes = growth_classes<double>();
  const Index least = instance.classes.tokens;
  instance.classes.tokens = read_or(request.parameters, parameter::M, least);
  if (instance.classes.tokens < least) {
    reject("popgrad figure " + request.name, "--M", std::to_string(instance.classes.tokens),
           "must be >= " + std::to_string(least) + ", the tokens that the classes have");
  }
  instance.decoder_rate = decoder_rate;
  instance.attention_rate = read<double>(request.parameters, parameter::eta_Z);
  return instance;
}

std::string name_of(double decoder_rate) { return fmt::format("η_Y = {:g}", decoder_rate); }

Trajectory<double> growth_run(const AnyRung<double>& rung, std::vector<double> times,
                              const FigureRequest& request) {
  SolveRequest<double> solve_request;
  solve_request.end = times.back();
  solve_request.save_at = std::move(times);
  solve_request.relative_tolerance = 1e-9;
  solve_request.absolute_tolerance = 1e-13;
  solve_request.keep_states = true;
  solve_request.find_events = false;
  Trajectory<double> run = solve(rung, solve_request);
  require_usable(run.outcome, request.name);
  return run;
}

}  // namespace popgrad::scan_snap::figures
