#include "popgrad/solved.hpp"
#include "popgrad/rung.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "popgrad/solve.hpp"

namespace popgrad {
namespace {

constexpr double looser = 100;     // tolerance of a second solve, in units of the first
constexpr double less_loose = 30;  // and of a third
constexpr double relative_to_absolute = 100;

SolveRequest<double> request_to(double end, double tolerance) {
  SolveRequest<double> request;
  request.end = end;
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance / relative_to_absolute;
  request.find_events = false;
  request.find_blow_up = false;
  return request;
}

Trajectory<double> reach_end(const AnyRung<double>& rung, const Vector<double>& initial,
                             const SolveRequest<double>& request) {
  Trajectory<double> run = solve(rung, initial, request);
  if (run.outcome.ending != Ending::reached_end) {
    throw std::runtime_error(fmt::format("the solve ended at t = {:.6g} of {:.6g}: {}",
                                         run.outcome.t_reached, request.end,
                                         describe(run.outcome.ending)));
  }
  return run;
}

// From one time to the next, each an end of the solve: inside a step the dense output need not
// become more accurate with the tolerance.
Solved::Solution solution_at(const AnyRung<double>& rung, const std::vector<double>& times,
                             double tolerance) {
  Solved::Solution found;
  Vector<double> x = rung.initial;
  double reached = 0;
  std::size_t steps = 0;
  for (const double t : times) {
    if (t > reached) {
      SolveRequest<double> request = request_to(t, tolerance);
      request.start = reached;
      const Trajectory<double> run = reach_end(rung, x, request);
      x = run.last_state;
      steps += run.outcome.steps_taken;
      reached = t;
    }
    found.states.push_back(x);
    found.steps.push_back(static_cast<double>(steps));
  }
  return found;
}

struct Extremum {
  double value = 0;
  double gap = 0;  // to the vertex of the parabola through it and its neighbours
};

// The largest value of one column over the dense rows.
Extremum largest(const Trajectory<double>& run) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < run.step_rows.size(); ++i) {
    if (run.step_rows[i][0] > run.step_rows[at][0]) at = i;
  }
  Extremum found{run.step_rows.at(at)[0], 0};
  if (at == 0 || at + 1 == run.step_rows.size()) return found;
  const double before = run.step_t[at] - run.step_t[at - 1];
  const double after = run.step_t[at + 1] - run.step_t[at];
  if (!(before > 0) || !(after > 0)) return found;
  const double left = (found.value - run.step_rows[at - 1][0]) / before;
  const double right = (run.step_rows[at + 1][0] - found.value) / after;
  const double curvature = 2 * (right - left) / (before + after);
  const double slope = (left * after + right * before) / (before + after);
  if (curvature < 0) found.gap = -slope * slope / (2 * curvature);
  return found;
}

Quantity extremum_along(const AnyRung<double>& rung, double end, double tolerance,
                        const Functional& functional, double sign) {
  AnyRung<double> watched = rung;
  watched.columns = {"functional"};
  watched.events.clear();
  watched.observe = [&](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = sign * functional(x);
  };
  SolveRequest<double> request = request_to(end, tolerance);
  request.observe_steps = true;
  const Extremum sharp = largest(reach_end(watched, watched.initial, request));
  request.relative_tolerance *= looser;
  request.absolute_tolerance *= looser;
  const Extremum loose = largest(reach_end(watched, watched.initial, request));
  // Twice the gap: the parabola is itself an estimate.
  return {sign * sharp.value,
          {ErrorPart::solver(sharp.value, loose.value), ErrorPart::between_points(2 * sharp.gap),
           ErrorPart::rounding(static_cast<double>(rung.dimension), sharp.value)}};
}

}  // namespace

Solved::Solved(const AnyRung<double>& rung, std::vector<double> times, double tolerance)
    : times_(std::move(times)),
      sharp_(solution_at(rung, times_, tolerance)),
      loose_{solution_at(rung, times_, looser * tolerance),
             solution_at(rung, times_, less_loose * tolerance)} {}

std::vector<std::string> Solved::places() const {
  std::vector<std::string> texts;
  for (const double t : times_) texts.push_back(fmt::format("t = {:.6g}", t));
  return texts;
}

Quantity Solved::at(std::size_t save, const Functional& functional) const {
  const Vector<double>& x = sharp_.states[save];
  const double value = functional(x);
  // Two solves may agree by chance; that three do is unlikely.
  double farthest = value;
  for (const Solution& loose : loose_) {
    const double other = functional(loose.states[save]);
    if (!(std::fabs(other - value) <= std::fabs(farthest - value))) farthest = other;
  }
  const double operations = sharp_.steps[save] + static_cast<double>(x.size());
  return {value, {ErrorPart::solver(value, farthest), ErrorPart::rounding(operations, value)}};
}

std::vector<Quantity> Solved::along(const Functional& functional) const {
  std::vector<Quantity> values;
  for (std::size_t i = 0; i < size(); ++i) values.push_back(at(i, functional));
  return values;
}

Quantity largest_along(const AnyRung<double>& rung, double end, double tolerance,
                       const Functional& functional) {
  return extremum_along(rung, end, tolerance, functional, 1);
}

Quantity smallest_along(const AnyRung<double>& rung, double end, double tolerance,
                        const Functional& functional) {
  return extremum_along(rung, end, tolerance, functional, -1);
}

std::vector<FoundEvent> events_of(const AnyRung<double>& rung, double end, double tolerance) {
  SolveRequest<double> request = request_to(end, tolerance);
  request.find_events = true;
  const std::vector<Event<double>> sharp = reach_end(rung, rung.initial, request).events;
  request.relative_tolerance *= looser;
  request.absolute_tolerance *= looser;
  const std::vector<Event<double>> loose = reach_end(rung, rung.initial, request).events;
  const bool same = std::equal(sharp.begin(), sharp.end(), loose.begin(), loose.end(),
                               [](const auto& a, const auto& b) { return a.name == b.name; });
  if (!same) {
    throw std::runtime_error(
        fmt::format("{} events at tolerance {:.2g}, {} at {:.2g}: too close to tell apart",
                    sharp.size(), tolerance, loose.size(), looser * tolerance));
  }
  std::vector<FoundEvent> found;
  for (std::size_t i = 0; i < sharp.size(); ++i) {
    found.push_back({sharp[i].name,
                     {sharp[i].t, {ErrorPart::solver(sharp[i].t, loose[i].t)}},
                     {sharp[i].value, {ErrorPart::solver(sharp[i].value, loose[i].value)}}});
  }
  return found;
}

}  // namespace popgrad
