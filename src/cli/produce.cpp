#include "cli/produce.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace popgrad::cli {
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
Trajectory<T> evaluate_closed_form(const AnyRung<T>& rung, const SolveRequest<T>& request,
                                   const Report& report) {
  Trajectory<T> result;
  result.columns = rung.columns;
  for (const T& t : request.save_at) {
    const Vector<T> state = rung.state_at(t);
    bool finite = true;
    for (const T& x : state) finite = finite && to_double(x) - to_double(x) == 0;
    if (!finite) {
      result.outcome.ending = Ending::blew_up;
      return result;
    }
    std::vector<T> row(rung.columns.size());
    rung.observe(state, t, row);
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
    // Nobody asked for an end: the interesting one is the blow-up. Its own time has no state.
    request.save_at = equally_spaced(T(0), blow_up->t, request.save_at.size());
    request.save_at.pop_back();
    run = solve(rung, initial, request);
  }
  return earlier != nullptr ? joined(*earlier, std::move(run)) : run;
}

std::vector<Trajectory<double>> produce_walks(const AnyRung<double>& rung, WalkRequest request,
                                              const std::vector<Trajectory<double>>& earlier,
                                              const Report& report) {
  request.on_progress = report;
  if (earlier.empty()) return walk(rung, rung.initial, request);
  std::vector<Trajectory<double>> runs;
  const std::vector<std::uint64_t> saves = request.save_steps;
  for (std::uint32_t run = 0; run < earlier.size(); ++run) {
    const Trajectory<double>& part = earlier[run];
    if (part.outcome.ending == Ending::reached_end) {
      runs.push_back(part);
      runs.back().columns = rung.columns;
      continue;
    }
    // Streams are named by run and step, so going on repeats what would have been drawn.
    request.first_run = run;
    request.runs = 1;
    request.start_step = part.outcome.steps_taken;
    request.start_memory = part.last_memory;
    request.save_steps.clear();
    const std::size_t saved = part.t.size();
    request.save_steps.assign(
        saves.begin() + static_cast<std::ptrdiff_t>(std::min(saved, saves.size())), saves.end());
    runs.push_back(joined(part, walk(rung, part.last_state, request).front()));
  }
  return runs;
}

namespace {

constexpr double looser = 100;
constexpr std::size_t even_times = 129;
constexpr std::size_t early_times = 96;
constexpr double earliest = 1e-6;
constexpr int closer_times = 24;

// A closed form is looked at on evenly spaced times and, for what happens early, on a geometric
// sequence; then once more on times closer by around what was found.
template <class T>
std::vector<Event<T>> regimes_of_closed_form(const AnyRung<T>& rung, const T& end,
                                             const std::vector<Regime>& regimes) {
  std::map<T, std::vector<T>> rows;
  const auto look = [&](const T& t) {
    if (rows.contains(t)) return;
    std::vector<T>& row = rows[t];
    row.resize(rung.columns.size());
    rung.observe(rung.state_at(t), t, row);
  };
  const auto find = [&] {
    Trajectory<T> fine;
    fine.columns = rung.columns;
    for (const auto& [t, row] : rows) {
      fine.step_t.push_back(t);
      fine.step_rows.push_back(row);
    }
    return find_regimes<T>(fine, regimes, SeriesKind::smooth);
  };
  for (const T& t : equally_spaced(T(0), end, even_times)) look(t);
  for (std::size_t k = 0; k < early_times; ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(early_times);
    look(T(end * T(std::pow(earliest, 1 - share))));
  }
  for (const Event<T>& event : find()) {
    const auto after = rows.lower_bound(event.t);
    if (after == rows.begin() || after == rows.end()) continue;
    const T spacing = after->first - std::prev(after)->first;
    for (int k = -closer_times; k <= closer_times; ++k) {
      const T t = event.t + spacing * T(2 * k) / T(closer_times);
      if (T(0) < t && t < end) look(t);
    }
  }
  return find();
}

template <class T>
void append_events(std::vector<Event<T>>& events, std::vector<Event<T>> more) {
  events.insert(events.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  std::stable_sort(events.begin(), events.end(),
                   [](const Event<T>& a, const Event<T>& b) { return a.t < b.t; });
}

}  // namespace

template <class T>
void find_regimes_of_flow(Trajectory<T>& run, const AnyRung<T>& rung, const Model& model,
                          const RungInfo& info, SolveRequest<T> request, const Report& report) {
  if (!run.outcome.usable() || run.t.empty()) return;
  std::vector<Regime> regimes = model.regimes();
  // What the rung finds itself is sharper.
  std::erase_if(regimes, [&](const Regime& regime) {
    return std::any_of(rung.events.begin(), rung.events.end(),
                       [&](const EventFinder<T>& finder) { return finder.name == regime.name; });
  });
  if (info.kind == RungKind::closed_form) {
    append_events(run.events, regimes_of_closed_form(rung, run.t.back(), regimes));
    return;
  }
  append_events(run.events, find_regimes<T>(run, regimes, SeriesKind::smooth));
  if (run.events.empty() || run.step_t.empty()) return;
  request.save_at.clear();
  request.relative_tolerance *= T(looser);
  request.absolute_tolerance *= T(looser);
  request.on_progress = [&](double) { return report(1.0); };
  Trajectory<T> loose = solve(rung, request);
  if (!loose.outcome.usable()) return;
  append_events(loose.events, find_regimes<T>(loose, regimes, SeriesKind::smooth));
  run.events = confirmed(std::move(run.events), loose.events, run.outcome.notes);
}

namespace {

/// Rows of a walk beyond those asked for: evenly spread ones, of no more than a quarter of the
/// steps, and a geometric sequence for what happens early.
constexpr std::uint64_t most_extra_rows = 512;
constexpr double extra_ratio = 1.1;

std::vector<std::uint64_t> watched_steps(const WalkRequest& request) {
  const std::uint64_t even = std::min(most_extra_rows, request.steps / 4);
  std::vector<std::uint64_t> steps = request.save_steps;
  if (even >= 2) {
    for (const std::uint64_t step : evenly_spread_steps(request.steps, even)) steps.push_back(step);
    for (double step = 1; step < static_cast<double>(request.steps); step *= extra_ratio) {
      steps.push_back(static_cast<std::uint64_t>(step));
    }
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

}  // namespace

std::vector<Trajectory<double>> produce_watched_walks(const AnyRung<double>& rung,
                                                      WalkRequest request, const Report& report) {
  const std::vector<std::uint64_t> asked = request.save_steps;
  const std::vector<std::uint64_t> watched = watched_steps(request);
  request.save_steps = watched;
  std::vector<Trajectory<double>> runs = produce_walks(rung, std::move(request), {}, report);
  for (Trajectory<double>& run : runs) {
    run.step_t = std::move(run.t);
    run.step_rows = std::move(run.rows);
    run.t.clear();
    run.rows.clear();
    std::size_t next = 0;
    for (std::size_t k = 0; k < run.step_t.size(); ++k) {
      if (next == asked.size() || watched[k] != asked[next]) continue;
      run.t.push_back(run.step_t[k]);
      run.rows.push_back(run.step_rows[k]);
      ++next;
    }
  }
  return runs;
}

void find_regimes_of_walks(std::vector<Trajectory<double>>& runs, const Model& model,
                           const RungInfo& info) {
  const std::vector<Regime> regimes = model.regimes();
  const SeriesKind kind = info.kind == RungKind::random ? SeriesKind::sampled : SeriesKind::smooth;
  // What was interrupted goes on from a checkpoint, and is looked at when it is whole.
  for (const Trajectory<double>& run : runs) {
    if (run.outcome.ending == Ending::interrupted) return;
  }
  for (Trajectory<double>& run : runs) {
    if (!run.outcome.usable()) continue;
    append_events(run.events, find_regimes<double>(run, regimes, kind));
  }
}

template void find_regimes_of_flow(Trajectory<double>&, const AnyRung<double>&, const Model&,
                                   const RungInfo&, SolveRequest<double>, const Report&);
template void find_regimes_of_flow(Trajectory<Real>&, const AnyRung<Real>&, const Model&,
                                   const RungInfo&, SolveRequest<Real>, const Report&);
template Trajectory<double> produce_flow(const AnyRung<double>&, const RungInfo&,
                                         SolveRequest<double>, bool, const Trajectory<double>*,
                                         const Report&);
template Trajectory<Real> produce_flow(const AnyRung<Real>&, const RungInfo&, SolveRequest<Real>,
                                       bool, const Trajectory<Real>*, const Report&);

}  // namespace popgrad::cli
