#include "solving/time_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {
namespace {

/// Measured in tests/solving/time_error_test.cpp: the looser solve is never that much better than its
/// tolerance.
constexpr double margin = 30;
/// In digits the orders of single steps differ, and with them how far below the tolerance errors
/// are; they grow a little against it: tenfold on so many decades.
constexpr double margin_in_digits = 300;
constexpr double decades_a_tenth = 27;
/// Beyond this tolerance errors are not yet proportional to it.
constexpr double loosest_double = 1e-5;
constexpr double largest_ratio = 1e5;
/// With less room than this a confirming solve at a hundred times the tolerance costs little more.
constexpr double least_ratio = 999;
/// Of the digits of the tolerance, those the looser solve does without, and how many it has at
/// least: half the order costs a quarter of the evaluations.
constexpr double share_of_digits = 0.6;
constexpr double least_digits = 9;
constexpr double fewest_digits_less = 2.9;
/// Rows of regimes are doubles made of sketches, which errors below this do not show in.
constexpr double resolved = 1e-13;
/// Rows of the first solve that share one of the looser one, and those after the last event that
/// its fit reaches.
constexpr std::size_t rows_together = 10;
constexpr std::size_t rows_beyond = 16;

/// How many times looser the second solve is; 0 for no room.
template <class T>
T looser_ratio(const T& tolerance) {
  if constexpr (std::is_same_v<T, double>) {
    const double ratio = std::min(largest_ratio, loosest_double / tolerance);
    return ratio < least_ratio ? 0 : ratio;
  } else {
    const double digits = -to_double(T(log10(tolerance)));
    const double fewer = std::min(share_of_digits * digits, digits - least_digits);
    return fewer < fewest_digits_less ? T(0) : T(pow(T(10), T(fewer)));
  }
}

template <class T>
T margin_of(const T& ratio) {
  if constexpr (std::is_same_v<T, double>) {
    return margin;
  } else {
    return T(margin_in_digits) * pow(ratio, T(1) / T(decades_a_tenth));
  }
}

/// Values of the looser solution at times that ascend, one row a time.
template <class T>
struct Looser {
  std::vector<T> t;
  std::vector<std::vector<T>> rows;

  // Between two times on a line, beyond them constant.
  [[nodiscard]] double at(const T& time, std::size_t column) const {
    const auto after = std::lower_bound(t.begin(), t.end(), time) - t.begin();
    const auto k = static_cast<std::size_t>(after);
    if (k == 0) return to_double(rows.front()[column]);
    if (k == t.size()) return to_double(rows.back()[column]);
    const double share = to_double(T((time - t[k - 1]) / (t[k] - t[k - 1])));
    return to_double(rows[k - 1][column]) * (1 - share) + to_double(rows[k][column]) * share;
  }
};

// Every second row from the one of index `first`, moved by `share` of what the looser solution
// differs by at times `at`, which are among those of the rows.
template <class T>
Trajectory<T> moved_rows(const Trajectory<T>& run, const std::vector<std::size_t>& at,
                         const Trajectory<T>& loose, double share, std::size_t first) {
  Looser<T> difference;
  for (std::size_t k = 0; k < at.size(); ++k) {
    difference.t.push_back(run.step_t[at[k]]);
    difference.rows.push_back(loose.rows[k]);
    for (std::size_t c = 0; c < run.columns.size(); ++c) {
      difference.rows.back()[c] -= run.step_rows[at[k]][c];
    }
  }
  Trajectory<T> moved;
  moved.columns = run.columns;
  for (std::size_t k = first; k < run.step_t.size(); k += 2) {
    moved.step_t.push_back(run.step_t[k]);
    moved.step_rows.push_back(run.step_rows[k]);
    if (difference.t.empty()) continue;
    for (std::size_t c = 0; c < run.columns.size(); ++c) {
      const double by = share * difference.at(run.step_t[k], c);
      if (std::isfinite(by)) moved.step_rows.back()[c] += T(by);
    }
  }
  return moved;
}

/// When the looser solution is looked at: beside an event of a finder, and at rows of the run.
template <class T>
struct Times {
  std::vector<std::size_t> rows;
  std::vector<T> finders;  // three an event: before, at and after it
  std::vector<T> all;      // ascending
};

template <class T>
Times<T> times_to_look(const Trajectory<T>& run, const AnyRung<T>& rung, bool rows_show) {
  Times<T> times;
  std::size_t last_row = 0;
  for (const Event<T>& event : run.events) {
    const auto after = static_cast<std::size_t>(
        std::lower_bound(run.step_t.begin(), run.step_t.end(), event.t) - run.step_t.begin());
    const std::size_t next = std::clamp<std::size_t>(after, 1, run.step_t.size() - 1);
    if (finder_of(rung, event) == nullptr) {
      last_row = std::max(last_row, std::min(next + rows_beyond, run.step_t.size() - 1));
      continue;
    }
    const T spacing = run.step_t[next] - run.step_t[next - 1];
    for (const T& t : {T(event.t - spacing), event.t, T(event.t + spacing)}) {
      times.finders.push_back(std::clamp(t, run.step_t.front(), run.step_t.back()));
    }
  }
  for (std::size_t k = 0; rows_show && last_row > 0 && k <= last_row; k += rows_together) {
    times.rows.push_back(k);
  }
  times.all = times.finders;
  for (const std::size_t k : times.rows) times.all.push_back(run.step_t[k]);
  std::sort(times.all.begin(), times.all.end());
  times.all.erase(std::unique(times.all.begin(), times.all.end()), times.all.end());
  return times;
}

// The rung with the functions of its finders as columns after its own.
template <class T>
AnyRung<T> with_functions(const AnyRung<T>& rung, std::vector<T> times) {
  AnyRung<T> watched = rung;
  for (const EventFinder<T>& finder : rung.events)
    watched.observables.columns.push_back(finder.name);
  std::sort(times.begin(), times.end());
  watched.observables.read = [&rung, times = std::move(times)](const Vector<T>& x, const T& t,
                                                               std::span<T> row) {
    rung.observables.read(x, t, row.first(rung.observables.columns.size()));
    if (!std::binary_search(times.begin(), times.end(), t)) return;
    for (std::size_t k = 0; k < rung.events.size(); ++k) {
      row[rung.observables.columns.size() + k] = rung.events[k].value(x, t);
    }
  };
  return watched;
}

// By how much the zero of a function moves, seen at three times around it; infinite where it is not between them.
template <class T>
T move_of_zero(const Trajectory<T>& loose, const T* three, std::size_t column) {
  const auto value_at = [&](const T& t) {
    const auto found = std::lower_bound(loose.t.begin(), loose.t.end(), t) - loose.t.begin();
    return loose.rows[static_cast<std::size_t>(found)][column];
  };
  const T before = value_at(three[0]);
  const T after = value_at(three[2]);
  if (before * after > T(0)) return T(std::numeric_limits<double>::infinity());
  return value_at(three[1]) * T(three[2] - three[0]) / T(after - before);
}

}  // namespace

template <class T>
bool add_time_errors(Trajectory<T>& run, const AnyRung<T>& rung, std::span<const Regime> regimes,
                     const SolveRequest<T>& request, const std::function<bool()>& looked_again) {
  const T ratio = looser_ratio(request.relative_tolerance);
  if (!(ratio > T(0)) || run.outcome.ending != Ending::reached_end) return false;
  const bool rows_show = to_double(T(request.relative_tolerance * T(margin))) > resolved;
  const Times<T> times = times_to_look(run, rung, rows_show);
  Trajectory<T> loose;
  if (!times.all.empty()) {
    SolveRequest<T> looser = request;
    looser.save_at = times.all;
    looser.end = times.all.back();
    looser.relative_tolerance *= ratio;
    looser.absolute_tolerance *= ratio;
    looser.keep_states = false;
    looser.find_events = false;
    looser.observe_steps = false;
    looser.on_progress = [&](double) { return looked_again(); };
    loose = solve(with_functions(rung, times.finders), looser);
    if (loose.outcome.ending != Ending::reached_end) return false;
  }
  const T share = margin_of(ratio) / ratio;
  Trajectory<T> at_rows;
  for (const std::size_t k : times.rows) {
    const auto found =
        std::lower_bound(loose.t.begin(), loose.t.end(), run.step_t[k]) - loose.t.begin();
    at_rows.rows.push_back(loose.rows[static_cast<std::size_t>(found)]);
  }
  // Rows in digits are few, and cost little beside the solve: either half of them is looked at.
  std::vector<std::vector<Event<T>>> moved;
  for (std::size_t first = 0; first < (std::is_same_v<T, double> ? 1 : 2); ++first) {
    moved.push_back(find_regimes<T>(moved_rows(run, times.rows, at_rows, to_double(share), first),
                                    regimes, SeriesKind::smooth));
  }
  std::vector<Event<T>> events = run.events;
  std::size_t next = 0;
  for (Event<T>& event : events) {
    double by = 0;
    if (const EventFinder<T>* finder = finder_of(rung, event)) {
      const auto column = static_cast<std::size_t>(finder - rung.events.data());
      by = std::fabs(to_double(T(share * move_of_zero(loose, &times.finders[next],
                                                      rung.observables.columns.size() + column))));
      next += 3;
    } else {
      for (const std::vector<Event<T>>& half : moved) {
        std::vector<std::string> notes;
        std::vector<Event<T>> wider{event};
        if (!confirm(wider, half, notes).empty()) return false;
        by = std::max(by, wider.front().uncertainty - event.uncertainty);
      }
    }
    if (!std::isfinite(by)) return false;
    event.uncertainty += by;
  }
  run.events = std::move(events);
  return true;
}

template bool add_time_errors(Trajectory<double>&, const AnyRung<double>&, std::span<const Regime>,
                              const SolveRequest<double>&, const std::function<bool()>&);
template bool add_time_errors(Trajectory<Real>&, const AnyRung<Real>&, std::span<const Regime>,
                              const SolveRequest<Real>&, const std::function<bool()>&);

}  // namespace popgrad
