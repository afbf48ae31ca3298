#include "runs/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/fluctuations/momentum_pair.hpp"
#include "popgrad/rungs/regime.hpp"
#include "popgrad/walks/watch.hpp"

namespace popgrad {
namespace {

// Puts the interrupted part in front of what followed it.
template <class T>
Trajectory<T> joined(const Trajectory<T>& earlier, Trajectory<T> later) {
  Trajectory<T> whole = earlier;
  whole.columns = later.columns;
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(whole.t, later.t);
  append(whole.rows, later.rows);
  append(whole.states, later.states);
  append(whole.events, later.events);
  whole.last_state = later.last_state;
  whole.last_memory = later.last_memory;
  later.outcome.steps_taken += earlier.outcome.steps_taken;
  whole.outcome = later.outcome;
  return whole;
}

template <class T>
bool finite_everywhere(const Vector<T>& state) {
  using std::isfinite;
  return std::all_of(state.begin(), state.end(), [](const T& x) { return isfinite(x); });
}

// Where a closed form that is finite at `low` and not at `high` stops being so, to the spacing of numbers.
template <class T>
Event<T> blow_up_between(const AnyRung<T>& rung, T low, T high) {
  for (T middle = (low + high) / T(2); low < middle && middle < high;
       middle = (low + high) / T(2)) {
    (finite_everywhere<T>(rung.field.state_at(middle)) ? low : high) = middle;
  }
  const Vector<T> state = rung.field.state_at(low);
  Index component = 0;
  state.cwiseAbs().maxCoeff(&component);
  const T infinite(std::numeric_limits<double>::infinity());
  return {"blow-up", high, rung.state_names[static_cast<std::size_t>(component)],
          state[component] < T(0) ? T(-infinite) : infinite};
}

template <class T>
Trajectory<T> evaluate_closed_form(const AnyRung<T>& rung, const SolveRequest<T>& request,
                                   const Report& report) {
  Trajectory<T> result;
  result.columns = rung.observables.columns;
  for (const T& t : request.save_at) {
    const Vector<T> state = rung.field.state_at(t);
    if (!finite_everywhere(state)) {
      if (result.t.empty()) {
        result.outcome.ending = Ending::not_a_number;
        return result;
      }
      result.outcome.ending = Ending::blew_up;
      result.events.push_back(blow_up_between(rung, result.t.back(), t));
      return result;
    }
    std::vector<T> row(rung.observables.columns.size());
    rung.observables.read(state, t, row);
    result.t.push_back(t);
    result.rows.push_back(std::move(row));
    if (request.keep_states) result.states.push_back(state);
    result.last_state = state;
    result.outcome.t_reached = to_double(t);
    ++result.outcome.evaluations;
    if (report(to_double(t) / to_double(request.end))) {
      result.outcome.ending = Ending::interrupted;
      return result;
    }
  }
  return result;
}

template <class T>
Trajectory<T> flow_from(const Vector<T>& initial, const AnyRung<T>& rung, SolveRequest<T> request,
                        const Report& report) {
  const double end = to_double(request.end);
  request.on_progress = [&, end](double t) { return report(t / end); };
  return solve(rung, initial, request);
}

template <class T>
Trajectory<T> continued_flow(const Trajectory<T>& earlier, const AnyRung<T>& rung,
                             const RungInfo& info, SolveRequest<T> request, const Report& report) {
  std::erase_if(request.save_at,
                [&](const T& t) { return !earlier.t.empty() && !(earlier.t.back() < t); });
  if (info.kind == RungKind::closed_form) {
    return joined(earlier, evaluate_closed_form(rung, request, report));
  }
  request.start = T(earlier.outcome.t_reached);
  return joined(earlier, flow_from(earlier.last_state, rung, request, report));
}

// Where no end was asked for, the interesting one is the blow-up, whose own time has no state: solves again up
// to it.
template <class T>
void spread_to_blow_up(Trajectory<T>& run, const SolveRequest<T>& request, const AnyRung<T>& rung,
                       const Report& report) {
  const auto blow_up = std::find_if(run.events.begin(), run.events.end(),
                                    [](const Event<T>& e) { return e.name == "blow-up"; });
  if (blow_up == run.events.end()) return;
  SolveRequest<T> up_to_it = request;
  up_to_it.save_at = equally_spaced(T(0), blow_up->t, request.save_at.size());
  up_to_it.save_at.pop_back();
  run = flow_from(rung.initial, rung, up_to_it, report);
}

// Interrupted walks, gone on with. Streams are named by run and step, so going on repeats what would have been
// drawn.
std::vector<Trajectory<double>> continued_walks(const std::vector<Trajectory<double>>& earlier,
                                                const Walker& walker, WalkRequest request,
                                                const Report& report) {
  std::vector<Trajectory<double>> runs;
  const std::vector<std::uint64_t> saves = request.save_steps;
  for (std::uint32_t run = 0; run < earlier.size(); ++run) {
    const Trajectory<double>& part = earlier[run];
    if (part.outcome.ending == Ending::reached_end) {
      runs.push_back(part);
      runs.back().columns = request.sampled.with(walker.columns());
      continue;
    }
    request.first_run = run;
    request.runs = 1;
    request.start_step = part.outcome.steps_taken;
    request.start_memory = part.last_memory;
    request.save_steps.assign(
        saves.begin() + static_cast<std::ptrdiff_t>(std::min(part.t.size(), saves.size())),
        saves.end());
    runs.push_back(joined(part, walker.runs(request, report, &part.last_state).front()));
  }
  return runs;
}

}  // namespace

const std::vector<std::string>& Walker::columns() const {
  return prediction ? prediction->columns : rung.observables.columns;
}

const StateNames& Walker::state_names() const {
  return prediction ? prediction->law_names : rung.state_names;
}

std::optional<Index> Walker::numbers() const {
  if (prediction) return std::ssize(prediction->law_names.all());
  if (rung.varying_length || rung.field.state_at) return std::nullopt;
  return rung.dimension;
}

std::vector<Trajectory<double>> Walker::runs(WalkRequest request, const Report& report,
                                             const Vector<double>* from) const {
  request.on_progress = report;
  if (!prediction) return walk(rung, from == nullptr ? rung.initial : *from, request);
  request.optimiser = {};
  return {prediction->rows(request, from)};
}

Walker walker_of(const Model& model, const RungInfo& info, const Parameters& parameters,
                 std::uint64_t seed, const WalkRequest& request) {
  const Rung& row = model.row(info.name);
  if (!row.predict) return {model.rung(info.name, parameters, seed)};
  const std::shared_ptr<const Prediction> law = row.predict(parameters, seed);
  AnyRung<double> sgd = law->steps ? *law->steps : model.rung("sgd", parameters, seed);
  if (request.optimiser.rule == Optimiser::Rule::momentum) {
    sgd = momentum_pair(sgd, request.optimiser.momentum, request.step_size);
    auto of_pair = std::make_shared<Prediction>(predict_moments(sgd, model.name()));
    return {std::move(sgd), std::move(of_pair)};
  }
  return {std::move(sgd), law};
}

std::vector<std::string> columns_of(const Model& model, const RungInfo& info,
                                    const Parameters& parameters, std::uint64_t seed) {
  return walker_of(model, info, parameters, seed, {}).columns();
}

Record settings_of(const WalkRequest& request, const std::string& optimiser) {
  Record settings{{"eta", request.step_size}, {"steps", request.steps}};
  if (request.batch > 0) settings["batch"] = request.batch;
  settings["runs"] = request.runs;
  settings["optimiser"] = optimiser;
  if (request.optimiser.rule == Optimiser::Rule::momentum) {
    settings["momentum"] = request.optimiser.momentum;
  }
  return settings;
}

template <class T>
Record settings_of(const SolveRequest<T>& request, int digits) {
  return {{"t1", to_double(request.end)},
          {"method", name_of(request.method)},
          {"rtol", to_double(request.relative_tolerance)},
          {"atol", to_double(request.absolute_tolerance)},
          {"digits", digits}};
}

template <class T>
Trajectory<T> trajectory_of_flow(const AnyRung<T>& rung, const RungInfo& info,
                                 SolveRequest<T> request, const Report& report) {
  if (info.kind == RungKind::closed_form) return evaluate_closed_form(rung, request, report);
  return flow_from(rung.initial, rung, request, report);
}

template <class T>
Trajectory<T> flow_of(const RunRequest<T>& request, const AnyRung<T>& rung, const Report& report) {
  const Model& model = *request.model;
  SolveRequest<T> solve = request.solve;
  solve.find_events = request.events;
  solve.step_columns = columns_of_regimes(rung.observables.columns, model.regimes());
  solve.observe_steps =
      solve.find_events && std::any_of(solve.step_columns.begin(), solve.step_columns.end(),
                                       [](bool is_read) { return is_read; });
  if constexpr (!std::is_same_v<T, double>) {
    if (rung.field.value) {
      solve.field_in_double =
          model.rung(request.rung.name, request.parameters, request.seed).field.value;
    }
  }
  const bool closed = request.rung.kind == RungKind::closed_form;
  Trajectory<T> run;
  if (!request.earlier.empty()) {
    run = continued_flow(request.earlier.front(), rung, request.rung, solve, report);
  } else {
    run = trajectory_of_flow(rung, request.rung, solve, report);
    if (request.spread_to_blow_up && !closed) {
      spread_to_blow_up(run, solve, rung, report);
    }
  }
  if (!request.events) return run;
  if (closed) {
    watch_closed_form<T>(run, rung, model.regimes());
  } else {
    watch_flow<T>(run, rung, model.regimes(), solve, [&] { return report(1.0); });
  }
  return run;
}

std::vector<Trajectory<double>> watched_walks(const Model& model, const RungInfo& info,
                                              const Walker& walker, const WalkRequest& request,
                                              const MakeWalks& make) {
  WalkRequest watched = request;
  watched.save_steps = watched_steps(request);
  std::vector<Trajectory<double>> runs = make(walker, watched);
  if (runs.empty()) return runs;
  keep_asked_rows(runs, request);
  find_regimes_of_walks(runs, model, info);
  return runs;
}

void find_regimes_of_walks(std::vector<Trajectory<double>>& runs, const Model& model,
                           const RungInfo& info) {
  watch_walks(runs, model.regimes(),
              info.kind == RungKind::random ? SeriesKind::sampled : SeriesKind::smooth);
}

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

std::vector<Trajectory<double>> walks_of(const RunRequest<double>& request, const Walker& walker,
                                         const MakeWalks& make, const Report& report) {
  // Keep states only at requested rows; a resumed run keeps its original save points.
  // Predicted means have no regimes: regimes describe single runs.
  const bool watched = request.events && !walker.prediction;
  const bool from_start = request.earlier.empty();
  if (watched && !request.states && from_start)
    return watched_walks(*request.model, request.rung, walker, *request.walk, make);
  std::vector<Trajectory<double>> runs =
      from_start ? make(walker, *request.walk)
                 : continued_walks(request.earlier, walker, *request.walk, report);
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
    result.runs = walks_of(request, walker, make, report);
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

template Record settings_of(const SolveRequest<double>&, int);
template Record settings_of(const SolveRequest<Real>&, int);
template Trajectory<double> trajectory_of_flow(const AnyRung<double>&, const RungInfo&,
                                               SolveRequest<double>, const Report&);
template Trajectory<double> flow_of(const RunRequest<double>&, const AnyRung<double>&,
                                    const Report&);

}  // namespace popgrad
