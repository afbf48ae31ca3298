#include "runs/run.hpp"

#include <algorithm>
#include <utility>

#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/watch.hpp"

namespace popgrad {
namespace {

// Throws InputError where earlier runs do not fit, as those of another version of popgrad may; `numbers` of
// a state, nothing if any will do.
template <class T>
void check_fit(const RunRequest<T>& request, std::size_t columns, std::optional<Index> numbers) {
  for (const Trajectory<T>& run : request.earlier) {
    const bool rows_fit =
        run.rows.size() == run.t.size() &&
        (run.states.empty() || run.states.size() == run.t.size()) &&
        std::all_of(run.rows.begin(), run.rows.end(),
                    [&](const std::vector<T>& row) { return row.size() == columns; });
    if (rows_fit && run.last_state.size() == numbers.value_or(run.last_state.size())) continue;
    reject("popgrad run", "--resume", request.earlier_file,
           "does not fit this version of popgrad; start the run again");
  }
}

template <class T>
Trajectory<T> flow_of(const RunRequest<T>& request, const AnyRung<T>& rung, const Report& report) {
  const Model& model = *request.model;
  SolveRequest<T> solve = request.solve;
  solve.find_events = request.events;
  observe_for_regimes(solve, rung, model);
  if constexpr (!std::is_same_v<T, double>) {
    if (rung.field.value) {
      solve.field_in_double =
          model.rung(request.rung.name, request.parameters, request.seed).field.value;
    }
  }
  Trajectory<T> run =
      produce_flow(rung, request.rung, solve, request.spread_to_blow_up,
                   request.earlier.empty() ? nullptr : &request.earlier.front(), report);
  if (request.events) find_regimes_of_flow(run, rung, model, request.rung, solve, report);
  return run;
}

std::vector<Trajectory<double>> walks_of(const RunRequest<double>& request, const Walker& walker,
                                         const MakeWalks& make) {
  // Keep states only at requested rows; a resumed run keeps its original save points.
  // Predicted means have no regimes: regimes describe single runs.
  const bool watched = request.events && !walker.prediction;
  const bool more_rows = watched && !request.states && request.earlier.empty();
  WalkRequest made = *request.walk;
  if (more_rows) made.save_steps = watched_steps(*request.walk);
  std::vector<Trajectory<double>> runs = make(walker, made);
  if (runs.empty()) return runs;
  if (more_rows) keep_asked_rows(runs, *request.walk);
  if (watched) find_regimes_of_walks(runs, *request.model, request.rung);
  return runs;
}

// What is computed from the rows when they are made.
void add_to_rows(RunResult<double>& result, const RunRequest<double>& request, const Walker& walker,
                 const Report& report) {
  const Trajectory<double>& first = result.runs.front();
  const std::string& model = request.model->name();
  try {
    if (request.correlations && first.outcome.ending == Ending::reached_end) {
      if (report(1)) throw Stopped{};
      result.correlations = predicted_correlations(walker.rung, model, *request.walk, first);
    }
    if ((request.walk && !first.outcome.usable()) || report(1)) return;
    result.audit = request.model->audit(request.rung.name, request.parameters, request.seed,
                                        walker.rung, first);
  } catch (const Stopped&) {
    result.curtailed = true;
  }
}

}  // namespace

RunResult<double> run_rung(const RunRequest<double>& request, const MakeWalks& make,
                           const Report& report) {
  const Model& model = *request.model;
  const RungInfo& info = request.rung;
  const Walker walker = walker_of(model, info, request.parameters, request.seed,
                                  request.walk.value_or(WalkRequest{}));
  const SampledColumns sampled = request.walk ? request.walk->sampled : SampledColumns{};
  check_fit(request, sampled.with(walker.columns()).size(), walker.numbers());
  if (request.states && walker.rung.varying_length) {
    reject(model.name() + " " + info.name, "--states", "given",
           "does not go with a state whose length changes; leave it out, or take a dense rung");
  }
  RunResult<double> result;
  if (request.states) result.state_names = walker.state_names();
  result.settings = request.walk ? settings_of(*request.walk, request.optimiser)
                                 : settings_of(request.solve, request.digits);
  if (request.at_rest) {
    result.settings["steps"] = "inf";
    result.runs = {predict_at_rest(walker.rung, model.name(), *request.walk)};
    return result;
  }
  if (request.walk) {
    result.ensemble = request.walk->runs > 1;
    result.runs = walks_of(request, walker, make);
  } else {
    result.runs = {flow_of(request, walker.rung, report)};
  }
  if (!result.runs.empty()) add_to_rows(result, request, walker, report);
  return result;
}

RunResult<Real> run_rung(const RunRequest<Real>& request, const Report& report) {
  const AnyRung<Real> rung =
      request.model->rung_in_digits(request.rung.name, request.parameters, request.seed);
  check_fit(request, rung.observables.columns.size(),
            rung.field.state_at ? std::nullopt : std::optional(rung.dimension));
  RunResult<Real> result;
  if (request.states) result.state_names = rung.state_names;
  result.settings = settings_of(request.solve, request.digits);
  result.runs = {flow_of(request, rung, report)};
  return result;
}

}  // namespace popgrad
