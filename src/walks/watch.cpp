#include "popgrad/walks/watch.hpp"
#include "popgrad/rungs/rung.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <type_traits>

#include "popgrad/scalars/real.hpp"
#include "solving/time_error.hpp"

namespace popgrad {
namespace {

// Of the tolerances, for a cost of 2/5 of the first solve: orders are 5, and about 18 for digits.
template <class T>
constexpr double looser = std::is_same_v<T, double> ? 100 : 1e8;
constexpr std::size_t even_times = 129;
constexpr std::size_t early_times = 96;
constexpr double earliest = 1e-6;
constexpr int closer_times = 24;
constexpr std::uint64_t most_extra_rows = 512;
constexpr double extra_ratio = 1.1;
/// Rows of steps on either side of an event that make up its step: three lie inside one, in digits some dozen.
template <class T>
constexpr std::size_t rows_of_step = std::is_same_v<T, double> ? 4 : 16;
/// An event whose uncertainty is more relative tolerances of its time than this is worth another solve, as a shallow
/// extremum in a stiff phase is.
constexpr double blunt = 1e5;
constexpr double sharper = 100;
constexpr double least_sharper = 10;
constexpr double tightest = 1e-13;
constexpr Index largest_sharpened_dimension = 64;
constexpr std::size_t most_sharp_steps = 20'000;

template <class T>
void append_events(std::vector<Event<T>>& events, std::vector<Event<T>> more) {
  events.insert(events.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  std::stable_sort(events.begin(), events.end(),
                   [](const Event<T>& a, const Event<T>& b) { return a.t < b.t; });
}

// What the rung finds itself is sharper.
template <class T>
std::vector<Regime> not_found_by(const AnyRung<T>& rung, std::span<const Regime> regimes) {
  std::vector<Regime> left(regimes.begin(), regimes.end());
  std::erase_if(left, [&](const Regime& regime) {
    return std::any_of(rung.events.begin(), rung.events.end(),
                       [&](const EventFinder<T>& finder) { return finder.name == regime.name; });
  });
  return left;
}

// By chance two solves may agree to more digits than the tolerance says; those of extrapolation, whose
// steps are long and few, to one more in digits and to two more in double, where it takes fewer columns.
template <class T>
void no_surer_than(const SolveRequest<T>& request, std::vector<Event<T>>& events) {
  T shares(std::is_same_v<T, double> ? 1 : 10);
  if (std::is_same_v<T, double> && request.method == Method::bulirsch_stoer) shares = T(100);
  for (Event<T>& event : events) {
    const double least = std::fabs(to_double(T(shares * request.relative_tolerance * event.t)));
    event.uncertainty = std::max(event.uncertainty, least);
  }
}

// All that is known of an event that no second solve shows is the step that it was seen in.
template <class T>
void no_surer_than_step(const Trajectory<T>& run, Event<T>& event) {
  const std::vector<T>& t = run.step_t;
  const auto after =
      static_cast<std::size_t>(std::lower_bound(t.begin(), t.end(), event.t) - t.begin());
  const std::size_t first = after > rows_of_step<T> ? after - rows_of_step<T> : 0;
  const std::size_t last = std::min(after + rows_of_step<T>, t.size() - 1);
  const double width = std::max(to_double(T(event.t - t[std::min(first, t.size() - 1)])),
                                to_double(T(t[last] - event.t)));
  event.uncertainty = std::max(event.uncertainty, width);
}

template <class T>
void watch_once(Trajectory<T>& run, const AnyRung<T>& rung, std::span<const Regime> regimes,
                SolveRequest<T> request, const std::function<bool()>& looked_again) {
  if (!run.outcome.usable() || run.t.empty()) return;
  const std::vector<Regime> left = not_found_by(rung, regimes);
  append_events(run.events, find_regimes<T>(run, left, SeriesKind::smooth));
  if (run.events.empty()) return;
  if (run.step_t.empty()) {
    run.outcome.notes.push_back("events are not looked for again at looser tolerances");
    return;
  }
  const SolveRequest<T> first = request;
  if (add_time_errors<T>(run, rung, left, request, looked_again)) {
    no_surer_than(first, run.events);
    return;
  }
  request.save_at.clear();
  // A blow-up may lie a little later in the second solve.
  if (run.outcome.ending == Ending::blew_up) {
    request.end = std::max(request.end, T(T(2) * run.events.back().t));
  }
  request.relative_tolerance *= T(looser<T>);
  request.absolute_tolerance *= T(looser<T>);
  request.on_progress = [&](double) { return looked_again(); };
  Trajectory<T> loose = solve(rung, request);
  if (loose.outcome.ending == Ending::interrupted) return;
  append_events(loose.events, find_regimes<T>(loose, left, SeriesKind::smooth));
  for (const std::size_t k : confirm(run.events, loose.events, run.outcome.notes)) {
    no_surer_than_step(run, run.events[k]);
  }
  no_surer_than(first, run.events);
}

// The explicit methods leave noise of a tolerance in a stiff phase, which moves a shallow extremum far. Where one is
// not known well, events of finders are taken from another solve by the method for stiff fields at tighter tolerances.
void sharpen(Trajectory<double>& run, const AnyRung<double>& rung, SolveRequest<double> request,
             const std::function<bool()>& looked_again) {
  const auto is_blunt = [&](const Event<double>& event) {
    return event.uncertainty > blunt * request.relative_tolerance * std::fabs(event.t) &&
           finder_of(rung, event) != nullptr;
  };
  if (!rung.field.jacobian || rung.dimension > largest_sharpened_dimension ||
      run.outcome.ending != Ending::reached_end ||
      std::none_of(run.events.begin(), run.events.end(), is_blunt)) {
    return;
  }
  const double tighter = std::min(sharper, request.relative_tolerance / tightest);
  if (tighter < least_sharper) return;
  SolveRequest<double> sharp = request;
  sharp.method = Method::rosenbrock4;
  sharp.relative_tolerance /= tighter;
  sharp.absolute_tolerance /= tighter;
  sharp.step_budget = most_sharp_steps;
  sharp.save_at = {request.end};
  sharp.keep_states = false;
  sharp.on_progress = [&](double) { return looked_again(); };
  Trajectory<double> again = solve(rung, sharp);
  if (again.outcome.ending != Ending::reached_end) return;
  watch_flow<double>(again, rung, {}, sharp, looked_again);
  for (Event<double>& event : run.events) {
    if (!is_blunt(event)) continue;
    for (const Event<double>& other : again.events) {
      if (other.name == event.name && other.column == event.column &&
          other.uncertainty < event.uncertainty &&
          std::fabs(other.t - event.t) <= event.uncertainty + other.uncertainty) {
        event = other;
        break;
      }
    }
  }
}

}  // namespace

template <class T>
void watch_flow(Trajectory<T>& run, const AnyRung<T>& rung, std::span<const Regime> regimes,
                SolveRequest<T> request, const std::function<bool()>& looked_again) {
  watch_once(run, rung, regimes, request, looked_again);
  if constexpr (std::is_same_v<T, double>) sharpen(run, rung, std::move(request), looked_again);
}

template <class T>
void watch_closed_form(Trajectory<T>& run, const AnyRung<T>& rung,
                       std::span<const Regime> regimes) {
  if (!run.outcome.usable() || run.t.empty()) return;
  const std::vector<Regime> left = not_found_by(rung, regimes);
  const T end = run.t.back();
  std::map<T, std::vector<T>> rows;
  const auto look = [&](const T& t) {
    if (rows.contains(t)) return;
    std::vector<T>& row = rows[t];
    row.resize(rung.observables.columns.size());
    rung.observables.read(rung.field.state_at(t), t, row);
  };
  const auto find = [&] {
    Trajectory<T> fine;
    fine.columns = rung.observables.columns;
    for (const auto& [t, row] : rows) {
      fine.step_t.push_back(t);
      fine.step_rows.push_back(row);
    }
    return find_regimes<T>(fine, left, SeriesKind::smooth);
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
  append_events(run.events, find());
}

std::vector<std::uint64_t> watched_steps(const WalkRequest& request) {
  if (request.sampled.follow_rows()) return request.save_steps;
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

void keep_asked_rows(std::vector<Trajectory<double>>& runs, const WalkRequest& request) {
  const std::vector<std::uint64_t>& asked = request.save_steps;
  const std::vector<std::uint64_t> watched = watched_steps(request);
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
}

void watch_walks(std::vector<Trajectory<double>>& runs, std::span<const Regime> regimes,
                 SeriesKind kind) {
  for (const Trajectory<double>& run : runs) {
    if (run.outcome.ending == Ending::interrupted) return;
  }
  for (Trajectory<double>& run : runs) {
    if (!run.outcome.usable()) continue;
    append_events(run.events, find_regimes<double>(run, regimes, kind));
  }
}

template void watch_flow(Trajectory<double>&, const AnyRung<double>&, std::span<const Regime>,
                         SolveRequest<double>, const std::function<bool()>&);
template void watch_flow(Trajectory<Real>&, const AnyRung<Real>&, std::span<const Regime>,
                         SolveRequest<Real>, const std::function<bool()>&);
template void watch_closed_form(Trajectory<double>&, const AnyRung<double>&,
                                std::span<const Regime>);
template void watch_closed_form(Trajectory<Real>&, const AnyRung<Real>&, std::span<const Regime>);

}  // namespace popgrad
