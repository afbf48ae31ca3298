#include "commands/compare_parts.hpp"

#include <fmt/format.h>

#include "commands/exit_status.hpp"
#include "commands/host.hpp"

namespace popgrad::cli {

std::vector<Trajectory<double>> produce(const CommonOptions& options, const Model& model,
                                        const RungInfo& info, const Parameters& parameters,
                                        const std::vector<double>& times, double tolerance_factor,
                                        const Report& report) {
  if (walks(info)) {
    return runs_of_walk(model, info, parameters, walk_request(options, info), choices_of(options),
                        report);
  }
  SolveRequest<double> request = solve_request<double>(options, info, parameters);
  if (!times.empty()) {
    request.save_at = times;
    request.end = times.back();
  }
  request.relative_tolerance *= tolerance_factor;
  request.absolute_tolerance *= tolerance_factor;
  request.find_events = !options.no_events;
  return {run_of_flow(model, info, parameters, options.seed, request, report)};
}

RunSide side_of(const CommonOptions& options, const RungInfo& info, const Parameters& parameters,
                const std::vector<Trajectory<double>>& runs) {
  RunSide side{info.name, {}, {}};
  for (const Trajectory<double>& run : runs) side.outcomes.push_back(run.outcome);
  if (walks(info)) {
    WalkRequest request = walk_request_at(options, info, {runs.front().t.back()});
    request.runs = static_cast<std::uint32_t>(runs.size());
    side.settings = settings_of(request, options.optimiser);
  } else {
    SolveRequest<double> request = solve_request<double>(options, info, parameters);
    request.end = runs.front().t.back();
    side.settings = settings_of(request, options.digits);
  }
  return side;
}

int status_of(const std::vector<Trajectory<double>>& runs, Results* results) {
  const std::string failure = failure_of(runs);
  if (failure.empty()) return success;
  report_failure("popgrad: " + failure, results);
  return numerical_failure;
}

std::vector<Trajectory<double>> produce_at(const CommonOptions& options, const Model& model,
                                           const RungInfo& info, const Parameters& parameters,
                                           const std::vector<double>& times, const Report& report) {
  if (walks(info)) {
    return uninterrupted(runs_of_walk(model, info, parameters,
                                      walk_request_at(options, info, times), choices_of(options),
                                      report));
  }
  CommonOptions own = options;
  own.steps.reset();
  own.end = fmt::format("{:.17g}", times.back());
  return uninterrupted(produce(own, model, info, parameters, times, 1.0, report));
}

WalkRequest walk_request_at(const CommonOptions& options, const RungInfo& info,
                            const std::vector<double>& times) {
  CommonOptions own = options;
  own.end.clear();
  own.steps = 1;
  WalkRequest request = walk_request(own, info);
  request.save_steps = steps_at(times, request.step_size);
  request.steps = request.save_steps.back();
  if (info.kind != RungKind::random) request.runs = 1;
  return request;
}

}  // namespace popgrad::cli
