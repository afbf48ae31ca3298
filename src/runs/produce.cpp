#include "runs/produce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "popgrad/fluctuations/momentum_pair.hpp"
#include "popgrad/rungs/regime.hpp"
#include "popgrad/rungs/rung.hpp"
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

std::vector<Trajectory<double>> Walker::runs(const Vector<double>* from,
                                             const WalkRequest& request) const {
  if (!prediction) return walk(rung, from == nullptr ? rung.initial : *from, request);
  WalkRequest in_plain_steps = request;
  in_plain_steps.optimiser = {};
  return {prediction->rows(in_plain_steps, from)};
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
Trajectory<T> produce_flow(const AnyRung<T>& rung, const RungInfo& info, SolveRequest<T> request,
                           bool spread_to_blow_up, const Trajectory<T>* earlier,
                           const Report& report) {
  const double end = to_double(request.end);
  request.on_progress = [&](double t) { return report(t / end); };
  Vector<T> initial = rung.initial;
  if (earlier != nullptr) {
    const T reached(earlier->outcome.t_reached);
    std::erase_if(request.save_at,
                  [&](const T& t) { return !earlier->t.empty() && !(earlier->t.back() < t); });
    if (info.kind != RungKind::closed_form) {
      initial = earlier->last_state;
      request.start = reached;
    }
  }
  if (info.kind == RungKind::closed_form) {
    Trajectory<T> run = evaluate_closed_form(rung, request, report);
    return earlier != nullptr ? joined(*earlier, std::move(run)) : run;
  }
  Trajectory<T> run = solve(rung, initial, request);
  const auto blow_up = std::find_if(run.events.begin(), run.events.end(),
                                    [](const Event<T>& e) { return e.name == "blow-up"; });
  if (spread_to_blow_up && earlier == nullptr && blow_up != run.events.end()) {
    // Nobody asked for an end: the interesting one is the blow-up. Its own time
    // has no state.
    request.save_at = equally_spaced(T(0), blow_up->t, request.save_at.size());
    request.save_at.pop_back();
    run = solve(rung, initial, request);
  }
  return earlier != nullptr ? joined(*earlier, std::move(run)) : run;
}

std::vector<Trajectory<double>> produce_walks(const Walker& walker, WalkRequest request,
                                              const std::vector<Trajectory<double>>& earlier,
                                              const Report& report) {
  request.on_progress = report;
  if (earlier.empty()) return walker.runs(nullptr, request);
  std::vector<Trajectory<double>> runs;
  const std::vector<std::uint64_t> saves = request.save_steps;
  for (std::uint32_t run = 0; run < earlier.size(); ++run) {
    const Trajectory<double>& part = earlier[run];
    if (part.outcome.ending == Ending::reached_end) {
      runs.push_back(part);
      runs.back().columns = request.sampled.with(walker.columns());
      continue;
    }
    // Streams are named by run and step, so going on repeats what would have
    // been drawn.
    request.first_run = run;
    request.runs = 1;
    request.start_step = part.outcome.steps_taken;
    request.start_memory = part.last_memory;
    request.save_steps.clear();
    const std::size_t saved = part.t.size();
    request.save_steps.assign(
        saves.begin() + static_cast<std::ptrdiff_t>(std::min(saved, saves.size())), saves.end());
    runs.push_back(joined(part, walker.runs(&part.last_state, request).front()));
  }
  return runs;
}

template <class T>
void observe_for_regimes(SolveRequest<T>& request, const AnyRung<T>& rung, const Model& model) {
  request.step_columns = columns_of_regimes(rung.observables.columns, model.regimes());
  request.observe_steps =
      request.find_events && std::any_of(request.step_columns.begin(), request.step_columns.end(),
                                         [](bool is_read) { return is_read; });
}

template <class T>
void find_regimes_of_flow(Trajectory<T>& run, const AnyRung<T>& rung, const Model& model,
                          const RungInfo& info, const SolveRequest<T>& request,
                          const Report& report) {
  if (info.kind == RungKind::closed_form) {
    watch_closed_form<T>(run, rung, model.regimes());
  } else {
    watch_flow<T>(run, rung, model.regimes(), request, [&] { return report(1.0); });
  }
}

std::vector<Trajectory<double>> produce_watched_walks(const Walker& walker,
                                                      const WalkRequest& request,
                                                      const Report& report) {
  WalkRequest watched = request;
  watched.save_steps = watched_steps(request);
  std::vector<Trajectory<double>> runs = produce_walks(walker, std::move(watched), {}, report);
  keep_asked_rows(runs, request);
  return runs;
}

void find_regimes_of_walks(std::vector<Trajectory<double>>& runs, const Model& model,
                           const RungInfo& info) {
  watch_walks(runs, model.regimes(),
              info.kind == RungKind::random ? SeriesKind::sampled : SeriesKind::smooth);
}

template Record settings_of(const SolveRequest<double>&, int);
template Record settings_of(const SolveRequest<Real>&, int);
template void observe_for_regimes(SolveRequest<double>&, const AnyRung<double>&, const Model&);
template void observe_for_regimes(SolveRequest<Real>&, const AnyRung<Real>&, const Model&);
template void find_regimes_of_flow(Trajectory<double>&, const AnyRung<double>&, const Model&,
                                   const RungInfo&, const SolveRequest<double>&, const Report&);
template void find_regimes_of_flow(Trajectory<Real>&, const AnyRung<Real>&, const Model&,
                                   const RungInfo&, const SolveRequest<Real>&, const Report&);
template Trajectory<double> produce_flow(const AnyRung<double>&, const RungInfo&,
                                         SolveRequest<double>, bool, const Trajectory<double>*,
                                         const Report&);
template Trajectory<Real> produce_flow(const AnyRung<Real>&, const RungInfo&, SolveRequest<Real>,
                                       bool, const Trajectory<Real>*, const Report&);

}  // namespace popgrad
