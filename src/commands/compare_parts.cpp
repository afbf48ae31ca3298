#include "commands/compare_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/regime.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad::cli {

std::set<std::string> rungs_of_training(const Model& model, const std::string& rung) {
  std::set<std::string> names;
  for (bool grows = true; grows;) {
    grows = false;
    for (const LadderStep& step : model.ladder()) {
      const bool own = step.finer == rung || step.coarser == rung || names.contains(step.finer) ||
                       names.contains(step.coarser);
      if (step.special || !own) continue;
      grows = names.insert(step.finer).second || grows;
      grows = names.insert(step.coarser).second || grows;
    }
  }
  return names;
}

std::vector<Trajectory<double>> produce(const CommonOptions& options, const Model& model,
                                        const RungInfo& info, const Parameters& parameters,
                                        const std::vector<double>& times, double tolerance_factor,
                                        const Report& report) {
  if (walks(info)) {
    return walks_at(options, model, info, parameters, walk_request(options, info), report, false);
  }
  const AnyRung<double> rung = model.rung(info.name, parameters, options.seed);
  SolveRequest<double> request = solve_request<double>(options, info, parameters);
  if (!times.empty()) {
    request.save_at = times;
    request.end = times.back();
  }
  request.relative_tolerance *= tolerance_factor;
  request.absolute_tolerance *= tolerance_factor;
  request.find_events = !options.no_events;
  request.observe_steps = !options.no_events;
  request.step_columns = columns_of_regimes(rung.observables.columns, model.regimes());
  Trajectory<double> run = produce_flow<double>(rung, info, request, false, nullptr, report);
  if (!options.no_events) find_regimes_of_flow(run, rung, model, info, request, report);
  return {std::move(run)};
}

namespace {

// What became of the first run that did not reach its end; empty if all did.
std::string failure_of(const std::vector<Trajectory<double>>& runs) {
  for (const Trajectory<double>& run : runs) {
    if (run.outcome.ending == Ending::reached_end) continue;
    // Its event is not printed here.
    const std::string why = run.outcome.ending == Ending::blew_up
                                ? "a component blows up; end before that, as with --t1"
                                : describe(run.outcome.ending);
    return fmt::format("a run stopped at t = {:.6g}: {}", run.outcome.t_reached, why);
  }
  return {};
}

}  // namespace

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

int status_of(const std::vector<Trajectory<double>>& runs) {
  const std::string failure = failure_of(runs);
  if (failure.empty()) return success;
  fmt::print(standard_error(), "popgrad: {}\n", failure);
  return numerical_failure;
}

bool was_interrupted(const std::vector<Trajectory<double>>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const Trajectory<double>& run) {
    return run.outcome.ending == Ending::interrupted;
  });
}

std::vector<Trajectory<double>> uninterrupted(std::vector<Trajectory<double>> runs) {
  if (was_interrupted(runs)) throw Stopped{};
  return runs;
}

void require_ends(const std::vector<Trajectory<double>>& runs) {
  const std::string failure = failure_of(runs);
  if (!failure.empty()) throw Failure(failure);
}

std::vector<Trajectory<double>> produce_at(const CommonOptions& options, const Model& model,
                                           const RungInfo& info, const Parameters& parameters,
                                           const std::vector<double>& times, const Report& report,
                                           bool fresh_starts) {
  if (walks(info)) {
    return uninterrupted(walks_at(options, model, info, parameters,
                                  walk_request_at(options, info, times), report, fresh_starts));
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
  return request;
}

std::vector<Trajectory<double>> walks_at(const CommonOptions& options, const Model& model,
                                         const RungInfo& info, const Parameters& parameters,
                                         WalkRequest request, const Report& report,
                                         bool fresh_starts) {
  if (!fresh_starts) {
    const Walker walker = walker_of(model, info, parameters, options.seed, request);
    if (options.no_events) return produce_walks(walker, request, {}, report);
    std::vector<Trajectory<double>> runs = produce_watched_walks(walker, request, report);
    find_regimes_of_walks(runs, model, info);
    return runs;
  }
  std::vector<Trajectory<double>> runs;
  const std::uint32_t first = request.first_run;
  const std::uint32_t count = request.runs;
  request.runs = 1;
  for (std::uint32_t run = 0; run < count; ++run) {
    WalkRequest own = request;
    own.first_run = first + run;
    const Walker walker = walker_of(model, info, parameters, options.seed + own.first_run, own);
    runs.push_back(produce_walks(walker, own, {}, [&](double part) {
                     return report((run + part) / count);
                   }).front());
  }
  if (!options.no_events) find_regimes_of_walks(runs, model, info);
  return runs;
}

}  // namespace popgrad::cli
