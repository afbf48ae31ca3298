#include "popgrad/evidence/solved.hpp"
#include "popgrad/rungs/rung.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/scalars/refinement.hpp"
#include "popgrad/solving/solve.hpp"

namespace popgrad {
namespace {

// A looser solve: its tolerance in units of that of the sharpest, which share counts of how far it lies
// from that, and at which share of the way to a save point it stops. Errors fall with the tolerance, so
// that beyond `looser` what is looser counts in proportion.
//
// Where a state is so small or a span so short that no tolerance limits the steps, stops do: the sharpest
// solve takes three alike steps there and each looser one a longest step of its own, as alike steps would
// make alike errors, a difference of 0. One step of dopri5 is off by its length to the power of 6, so that
// each of them counts at least ten times what the sharpest is off by.
struct Looser {
  double tolerance;
  double share;
  double stop;
};
constexpr double looser = 100;
// Two solves agree by chance in one number out of some hundred; all of these do not in millions.
constexpr std::array loosers{Looser{looser, 1, 0.81}, Looser{looser / 3, 1, 0.71},
                             Looser{10 * looser, 0.1, 1}, Looser{3 * looser, 1.0 / 3, 0.91}};
constexpr double relative_to_absolute = 100;

// Of the sharpest solve in Real: far below what a double holds, and above what 40 digits round.
constexpr double tolerance_in_digits = 1e-24;

template <class T>
T sharpest_tolerance(double usual) {
  if constexpr (std::is_same_v<T, double>) {
    return refined_tolerance(usual);
  } else {
    return T(tolerance_in_digits);
  }
}

// What the looser solves find of a number, the farthest in proportion.
template <class T>
ErrorPart solver_part(const T& sharp, const std::vector<T>& loose) {
  double largest = 0;
  for (std::size_t i = 0; i < loose.size(); ++i) {
    const double apart = loosers[i].share * std::fabs(to_double(T(loose[i] - sharp)));
    if (!(apart <= largest)) largest = apart;
  }
  return ErrorPart::solver(0, largest);
}

template <class T>
SolveRequest<T> request_to(const T& end, const T& tolerance) {
  SolveRequest<T> request;
  request.end = end;
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance / relative_to_absolute;
  request.find_events = false;
  request.find_blow_up = false;
  return request;
}

template <class T>
Trajectory<T> reach_end(const AnyRung<T>& rung, const Vector<T>& initial,
                        const SolveRequest<T>& request) {
  Trajectory<T> run = solve(rung, initial, request);
  if (run.outcome.ending == Ending::interrupted) throw_if_stopped();
  if (run.outcome.ending != Ending::reached_end) {
    throw Failure(fmt::format("the solve ended at t = {:.6g} of {:.6g}: {}", run.outcome.t_reached,
                              to_double(request.end), describe(run.outcome.ending)));
  }
  return run;
}

// Where a solve stops on its way, in shares of it. No round ones, at which events may lie.
using Stops = std::vector<double>;
const Stops stops_of_sharpest{0.34, 0.67, 1};

Stops stops_of(const Looser& by) { return by.stop < 1 ? Stops{by.stop, 1} : Stops{1}; }

// From one time to the next, each an end of the solve: inside a step the dense output need not become more
// accurate with the tolerance.
template <class T>
typename SolvedIn<T>::Solution solution_at(const AnyRung<T>& rung, const std::vector<double>& times,
                                           const T& tolerance, const Stops& stops) {
  typename SolvedIn<T>::Solution found;
  Vector<T> x = rung.initial;
  double reached = 0;
  std::size_t steps = 0;
  for (const double t : times) {
    const double begin = reached;
    for (const double stop : stops) {
      const double end = stop < 1 ? begin + stop * (t - begin) : t;
      if (!(end > reached)) continue;
      SolveRequest<T> request = request_to<T>(T(end), tolerance);
      request.start = T(reached);
      const Trajectory<T> run = reach_end(rung, x, request);
      x = run.last_state;
      steps += run.outcome.steps_taken;
      reached = end;
    }
    found.states.push_back(x);
    found.steps.push_back(static_cast<double>(steps));
  }
  return found;
}

// What `steps` roundings of a state do to numbers read off it: the largest change of each over eight
// patterns of signs with which all components are moved, as each step moves a component by half a
// spacing at most.
//
// Signs are the parities of the bits that i has in common with a mask, the Walsh functions for eight
// neighbours: the mean square of the eight changes is that of independent signs, which the largest
// exceeds. The masks hold the products of bits of k as well, so that any two of 64 neighbours move
// apart in one pattern and together in another: neither their difference nor their sum stays put.
template <class T>
Vector<T> moved_by_rounding(const FunctionalsIn<T>& functionals, const Vector<T>& x,
                            const Vector<T>& values, double steps) {
  using std::fabs;
  constexpr unsigned patterns = 8;
  const T share = steps * machine_epsilon<T>();
  Vector<T> moved(x.size());
  Vector<T> largest = Vector<T>::Zero(values.size());
  for (unsigned k = 0; k < patterns; ++k) {
    const unsigned a = k & 1U, b = k >> 1U & 1U, c = k >> 2U & 1U;
    const unsigned mask = k | (a & b) << 3U | (b & c) << 4U | (a & c) << 5U;
    for (Index i = 0; i < x.size(); ++i) {
      const bool down = std::popcount(static_cast<unsigned>(i) & mask) % 2 == 1;
      moved[i] = x[i] * (1 + (down ? T(-share) : share));
    }
    const Vector<T> found = functionals(moved);
    for (Index i = 0; i < values.size(); ++i) {
      const T change = fabs(T(found[i] - values[i]));
      if (!(change <= largest[i])) largest[i] = change;
    }
  }
  return largest;
}

// What is read off a state rounds as well, like one more step and once for each component at least; what
// is read in digits rounds to the double that is kept.
template <class T>
std::vector<ErrorPart> rounding_of(const FunctionalsIn<T>& functionals, const Vector<T>& x,
                                   const Vector<T>& values, double steps) {
  const Vector<T> moved = moved_by_rounding(functionals, x, values, steps + 1);
  const double operations = std::is_same_v<T, double> ? static_cast<double>(x.size()) : 1;
  std::vector<ErrorPart> parts;
  for (Index i = 0; i < values.size(); ++i) {
    parts.push_back(
        ErrorPart::rounding_moved(to_double(moved[i]), operations, to_double(values[i])));
  }
  return parts;
}

template <class T>
FunctionalsIn<T> single(const FunctionalIn<T>& functional) {
  return [&functional](const Vector<T>& x) -> Vector<T> {
    return Vector<T>::Constant(1, functional(x));
  };
}

// What a solve over [0, end] with stops finds.
struct Watched {
  std::vector<double> t, value;  // of the first column, ends of steps and points inside
  std::vector<Event<double>> events;
  double steps = 0;
};

Watched watch(const AnyRung<double>& rung, SolveRequest<double> request, const Stops& stops) {
  Watched found;
  Vector<double> x = rung.initial;
  const double last = request.end;
  for (const double stop : stops) {
    request.end = stop < 1 ? stop * last : last;
    const Trajectory<double> run = reach_end(rung, x, request);
    for (std::size_t i = 0; i < run.step_t.size(); ++i) {
      if (!found.t.empty() && !(run.step_t[i] > found.t.back())) continue;
      found.t.push_back(run.step_t[i]);
      found.value.push_back(run.step_rows[i][0]);
    }
    found.events.insert(found.events.end(), run.events.begin(), run.events.end());
    found.steps += static_cast<double>(run.outcome.steps_taken);
    x = run.last_state;
    request.start = request.end;
  }
  return found;
}

struct Extremum {
  double value = 0;
  double gap = 0;  // to the vertex of the parabola through it and its neighbours
};

Extremum largest(const Watched& run) {
  const auto at = static_cast<std::size_t>(
      std::distance(run.value.begin(), std::max_element(run.value.begin(), run.value.end())));
  Extremum found{run.value.at(at), 0};
  if (at == 0 || at + 1 == run.value.size()) return found;
  const double before = run.t[at] - run.t[at - 1];
  const double after = run.t[at + 1] - run.t[at];
  const double left = (found.value - run.value[at - 1]) / before;
  const double right = (run.value[at + 1] - found.value) / after;
  const double curvature = 2 * (right - left) / (before + after);
  const double slope = (left * after + right * before) / (before + after);
  if (curvature < 0) found.gap = -slope * slope / (2 * curvature);
  return found;
}

Quantity extremum_along(const AnyRung<double>& rung, double end, double tolerance,
                        const Functional& functional, double sign) {
  AnyRung<double> watched = rung;
  watched.observables.columns = {"functional"};
  watched.events.clear();
  Vector<double> highest = rung.initial;
  double top = -std::numeric_limits<double>::infinity();
  watched.observables.read = [&](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = sign * functional(x);
    if (row[0] > top) {
      top = row[0];
      highest = x;
    }
  };
  SolveRequest<double> request = request_to(end, refined_tolerance(tolerance));
  request.observe_steps = true;
  const SolveRequest<double> sharpest = request;
  const Watched run = watch(watched, request, stops_of_sharpest);
  const Extremum sharp = largest(run);
  const ErrorPart rounding = rounding_of<double>(single<double>(functional), highest,
                                                 Vector<double>::Constant(1, sign * top), run.steps)
                                 .front();
  std::vector<double> loose;
  for (const Looser& by : loosers) {
    request.relative_tolerance = by.tolerance * sharpest.relative_tolerance;
    request.absolute_tolerance = by.tolerance * sharpest.absolute_tolerance;
    loose.push_back(largest(watch(watched, request, stops_of(by))).value);
  }
  // Twice the gap: the parabola is itself an estimate.
  return {sign * sharp.value,
          {solver_part(sharp.value, loose), ErrorPart::between_points(2 * sharp.gap), rounding}};
}

}  // namespace

template <class T>
SolvedIn<T>::SolvedIn(const AnyRung<T>& rung, std::vector<double> times, double tolerance)
    : times_(std::move(times)) {
  const T sharp = sharpest_tolerance<T>(tolerance);
  sharp_ = solution_at<T>(rung, times_, sharp, stops_of_sharpest);
  // In Real one of them: by chance or not, it is far below the rounding to double.
  constexpr std::size_t count = std::is_same_v<T, double> ? loosers.size() : 1;
  for (std::size_t i = 0; i < count; ++i)
    loose_.push_back(
        solution_at<T>(rung, times_, loosers[i].tolerance * sharp, stops_of(loosers[i])));
}

template <class T>
std::vector<std::string> SolvedIn<T>::places() const {
  std::vector<std::string> texts;
  for (const double t : times_) texts.push_back(fmt::format("`t = {:.6g}`", t));
  return texts;
}

template <class T>
std::vector<Quantity> SolvedIn<T>::all_at(std::size_t save,
                                          const FunctionalsIn<T>& functionals) const {
  const Vector<T>& x = sharp_.states[save];
  const Vector<T> values = functionals(x);
  std::vector<Vector<T>> loose;
  for (const Solution& other : loose_) loose.push_back(functionals(other.states[save]));
  const std::vector<ErrorPart> rounding = rounding_of(functionals, x, values, sharp_.steps[save]);
  std::vector<Quantity> found;
  for (Index i = 0; i < values.size(); ++i) {
    std::vector<T> others;
    for (const Vector<T>& other : loose) others.push_back(other[i]);
    found.push_back({to_double(values[i]),
                     {solver_part(T(values[i]), others), rounding[static_cast<std::size_t>(i)]}});
  }
  return found;
}

template <class T>
Quantity SolvedIn<T>::at(std::size_t save, const FunctionalIn<T>& functional) const {
  return all_at(save, single<T>(functional)).front();
}

template <class T>
std::vector<Quantity> SolvedIn<T>::along(const FunctionalIn<T>& functional) const {
  std::vector<Quantity> values;
  for (std::size_t i = 0; i < size(); ++i) values.push_back(at(i, functional));
  return values;
}

template class SolvedIn<double>;
template class SolvedIn<Real>;

Quantity largest_along(const AnyRung<double>& rung, double end, double tolerance,
                       const Functional& functional) {
  return extremum_along(rung, end, tolerance, functional, 1);
}

Quantity smallest_along(const AnyRung<double>& rung, double end, double tolerance,
                        const Functional& functional) {
  return extremum_along(rung, end, tolerance, functional, -1);
}

namespace {

// What roundings do to the time of an event, whose function g they move, and to its value, which
// changes in that time as well.
struct RoundingOfEvent {
  ErrorPart time, value;
};
RoundingOfEvent rounding_of_event(const AnyRung<double>& rung, const Event<double>& event,
                                  const Vector<double>& x, double steps) {
  const auto finder =
      std::find_if(rung.events.begin(), rung.events.end(), [&](const EventFinder<double>& own) {
        return own.name == event.name && own.column == event.column;
      });
  Vector<double> slope(x.size());
  rung.field.value(x, slope, event.t);
  // A tenth of a mean step: the solution is a line that far.
  const double aside = event.t / steps / 10;
  const auto rate_of = [&](const std::function<double(const Vector<double>&, const double&)>& of) {
    const Vector<double> ahead = x + aside * slope;
    const Vector<double> behind = x - aside * slope;
    return std::fabs(of(ahead, event.t + aside) - of(behind, event.t - aside)) / (2 * aside);
  };
  const auto moved = [&](const std::function<double(const Vector<double>&, const double&)>& of) {
    const auto at_event = [&](const Vector<double>& y) { return of(y, event.t); };
    const double value = of(x, event.t);
    return rounding_of<double>(single<double>(at_event), x, Vector<double>::Constant(1, value),
                               steps)
        .front()
        .size();
  };
  const double later = moved(finder->value) / rate_of(finder->value);
  return {ErrorPart::rounding_moved(later, steps, event.t),
          ErrorPart::rounding_moved(moved(finder->report) + later * rate_of(finder->report), 1,
                                    event.value)};
}

}  // namespace

std::vector<FoundEvent> events_of(const AnyRung<double>& rung, double end, double tolerance) {
  const double sharp_tolerance = refined_tolerance(tolerance);
  SolveRequest<double> request = request_to(end, sharp_tolerance);
  request.find_events = true;
  const std::vector<Event<double>> sharp = watch(rung, request, stops_of_sharpest).events;
  std::vector<std::vector<double>> times(sharp.size()), values(sharp.size());
  for (const Looser& by : loosers) {
    SolveRequest<double> looser_request = request_to(end, by.tolerance * sharp_tolerance);
    looser_request.find_events = true;
    const std::vector<Event<double>> loose = watch(rung, looser_request, stops_of(by)).events;
    const bool same = std::equal(sharp.begin(), sharp.end(), loose.begin(), loose.end(),
                                 [](const auto& a, const auto& b) { return a.name == b.name; });
    // Beyond `looser` events that are too close to tell apart only end the list.
    if (!same && by.tolerance > looser) break;
    if (!same) {
      throw Failure(
          fmt::format("{} events at tolerance {:.2g}, {} at {:.2g}: too close to tell apart",
                      sharp.size(), sharp_tolerance, loose.size(), by.tolerance * sharp_tolerance));
    }
    for (std::size_t i = 0; i < sharp.size(); ++i) {
      times[i].push_back(loose[i].t);
      values[i].push_back(loose[i].value);
    }
  }
  std::vector<double> at;
  for (const Event<double>& event : sharp) at.push_back(event.t);
  const Solved::Solution there = solution_at<double>(rung, at, sharp_tolerance, Stops{1});
  std::vector<FoundEvent> found;
  for (std::size_t i = 0; i < sharp.size(); ++i) {
    const RoundingOfEvent rounding =
        rounding_of_event(rung, sharp[i], there.states[i], std::max(1.0, there.steps[i]));
    found.push_back({sharp[i].name,
                     {sharp[i].t, {solver_part(sharp[i].t, times[i]), rounding.time}},
                     {sharp[i].value, {solver_part(sharp[i].value, values[i]), rounding.value}}});
  }
  return found;
}

}  // namespace popgrad
