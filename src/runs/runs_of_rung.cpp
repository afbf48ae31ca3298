#include "runs/runs_of_rung.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad {
namespace {

AnyRung<double> observed_as(AnyRung<double> rung, const AnyRung<double>& other) {
  rung.observables = other.observables;
  rung.clone = [clone = rung.clone, clone_of_other = other.clone] {
    return observed_as(clone(), clone_of_other());
  };
  return rung;
}

Walker walker_of(const Model& model, const RungInfo& info, const Parameters& parameters,
                 std::uint64_t seed, const WalkRequest& request, const RunChoices& choices) {
  Walker walker = walker_of(model, info, parameters, seed, request);
  if (choices.observed) {
    const AnyRung<double> other = model.rung(info.name, *choices.observed, seed);
    walker.rung = observed_as(std::move(walker.rung), other);
  }
  return walker;
}

}  // namespace

std::vector<Trajectory<double>> runs_of_walk(const Model& model, const RungInfo& info,
                                             const Parameters& parameters, WalkRequest request,
                                             const RunChoices& choices, const Report& report) {
  if (!choices.fresh_starts) {
    const Walker walker = walker_of(model, info, parameters, request.seed, request, choices);
    if (!choices.events) return walker.runs(request, report);
    return watched_walks(
        model, info, walker, request,
        [&](const Walker& own, const WalkRequest& asked) { return own.runs(asked, report); });
  }
  std::vector<Trajectory<double>> runs;
  const std::uint32_t first = request.first_run;
  const std::uint32_t count = request.runs;
  request.runs = 1;
  Walker walker = walker_of(model, info, parameters, request.seed, request, choices);
  for (std::uint32_t run = 0; run < count; ++run) {
    WalkRequest own = request;
    own.first_run = first + run;
    // Only the start is of the run; what else the seed draws, such as fixed arrays, is the same for all.
    Walker drawn = walker_of(model, info, parameters, request.seed + own.first_run, own, choices);
    if (drawn.prediction) {
      walker = std::move(drawn);
    } else {
      walker.rung.initial = std::move(drawn.rung.initial);
    }
    runs.push_back(
        walker.runs(own, [&](double part) { return report((run + part) / count); }).front());
  }
  if (choices.events) find_regimes_of_walks(runs, model, info);
  return runs;
}

Trajectory<double> run_of_flow(const Model& model, const RungInfo& info,
                               const Parameters& parameters, std::uint64_t seed,
                               SolveRequest<double> request, const Report& report) {
  RunRequest<double> asked{&model, info, parameters, seed};
  asked.events = request.find_events;
  asked.solve = std::move(request);
  return flow_of(asked, model.rung(info.name, parameters, seed), report);
}

std::vector<std::uint64_t> steps_at(const std::vector<double>& times, double learning_rate) {
  std::vector<std::uint64_t> steps;
  for (const double t : times) {
    const double ratio = t / learning_rate;
    const double step = std::round(ratio);
    // Recorded times may have been written with seven digits.
    if (std::fabs(ratio - step) > 1e-4 + 1e-7 * step || step > 1e12) {
      reject("popgrad", "eta", fmt::format("{:g}", learning_rate),
             fmt::format("has no step at the recorded time {:.9g} (on our clock); give the run's "
                         "own learning rate and clock",
                         t));
    }
    steps.push_back(static_cast<std::uint64_t>(step));
  }
  return steps;
}

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

}  // namespace popgrad
