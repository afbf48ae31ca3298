#include "cli/compare_parts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/exit_status.hpp"
#include "popgrad/error.hpp"

namespace popgrad::cli {

std::vector<Trajectory<double>> produce(const CommonOptions& options, const Model& model,
                                        const RungInfo& info, const Parameters& parameters,
                                        const std::vector<double>& times, double tolerance_factor,
                                        const Report& report) {
  const AnyRung<double> rung = model.rung(info.name, parameters, options.seed);
  if (walks(info)) {
    return produce_walks(rung, walk_request(options, info), {}, report);
  }
  SolveRequest<double> request = solve_request<double>(options, info);
  if (!times.empty()) {
    request.save_at = times;
    request.end = times.back();
  }
  request.relative_tolerance *= tolerance_factor;
  request.absolute_tolerance *= tolerance_factor;
  request.find_events = false;
  return {produce_flow<double>(rung, info, request, false, nullptr, report)};
}

int status_of(const std::vector<Trajectory<double>>& runs) {
  for (const Trajectory<double>& run : runs) {
    if (run.outcome.ending != Ending::reached_end) {
      fmt::print(stderr, "popgrad: a run stopped at t = {:.6g}: {}\n", run.outcome.t_reached,
                 describe(run.outcome.ending));
      return numerical_failure;
    }
  }
  return success;
}

std::vector<Trajectory<double>> produce_at(const CommonOptions& options, const Model& model,
                                           const RungInfo& info, const Parameters& parameters,
                                           const std::vector<double>& times, const Report& report,
                                           bool fresh_starts) {
  if (!walks(info)) {
    CommonOptions own = options;
    own.steps.reset();
    own.end = fmt::format("{:.17g}", times.back());
    return produce(own, model, info, parameters, times, 1.0, report);
  }
  CommonOptions own = options;
  own.end.clear();
  own.steps = 1;
  WalkRequest request = walk_request(own, info);
  request.save_steps.clear();
  for (const double t : times) {
    const double ratio = t / request.step_size;
    const double step = std::round(ratio);
    // Recorded times may have been written with seven digits.
    if (std::fabs(ratio - step) > 1e-4 + 1e-7 * step || step > 1e12) {
      reject("popgrad compare", "--eta", fmt::format("{:g}", request.step_size),
             fmt::format("has no step at the recorded time {:.9g} (on our clock); give the run's "
                         "own learning rate, and --clock",
                         t));
    }
    request.save_steps.push_back(static_cast<std::uint64_t>(step));
  }
  request.steps = request.save_steps.back();
  if (info.kind != RungKind::random) request.runs = 1;
  if (!fresh_starts) {
    const AnyRung<double> rung = model.rung(info.name, parameters, options.seed);
    return produce_walks(rung, request, {}, report);
  }
  std::vector<Trajectory<double>> runs;
  const std::uint32_t count = request.runs;
  request.runs = 1;
  for (std::uint32_t run = 0; run < count; ++run) {
    request.first_run = run;
    const AnyRung<double> rung = model.rung(info.name, parameters, options.seed + run);
    runs.push_back(produce_walks(rung, request, {}, [&](double part) {
                     return report((run + part) / count);
                   }).front());
  }
  return runs;
}

}  // namespace popgrad::cli
