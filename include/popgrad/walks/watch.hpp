#pragma once
/// How runs are watched for regimes: at which times they are looked at, and how sure a time is.

#include <functional>
#include <span>
#include <vector>

#include "popgrad/rungs/regime.hpp"
#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {

/// Adds the regimes of a solve to its events. What the event finders of the rung find themselves is
/// left to them. How sure each time is, is told by the rows thinned by two and by a second solve up
/// to the last event at tolerances up to 10^5 times those of `request` (in many digits: for three
/// fifths of the digits fewer), of whose difference a share is taken that errors proportional to
/// the tolerance leave 30 times below; some 0.1 to 0.15 of the cost of the first. At tolerances too
/// loose for that, or where an event is not seen again, the second solve is at a hundred times the
/// tolerances (in many digits: 10^8 times) with the same event finders, and the whole difference
/// counts; 2/5 of the cost of the first. An event that it does not show is known to the step that it was
/// seen in. No time is surer than the relative tolerance of itself (in many digits: than ten times that,
/// with bulirsch-stoer in double: a hundred times). Where an event of a finder is then known to less than 10^5
/// relative tolerances of its time, as a shallow extremum in a stiff phase is, events of finders are taken from
/// another solve, by rosenbrock4 at a hundredth of the tolerances (in double, with a Jacobian, up to 64 numbers of
/// state, down to 1e-13 and 20,000 steps). There is no second solve, and the notes say so, where `run`
/// does not hold the rows of its steps (`observe_steps`): regimes are then found in its rows.
/// `looked_again` is called now and then during the second solve; it returns true to stop, and the
/// events are then left as they were found.
template <class T>
void watch_flow(Trajectory<T>& run, const AnyRung<T>& rung, std::span<const Regime> regimes,
                SolveRequest<T> request, const std::function<bool()>& looked_again);

/// The same for a closed form up to the end of `run`, looked at on 129 evenly spaced times and 96
/// in a geometric sequence from a millionth of the end, then on closer ones around what was found.
template <class T>
void watch_closed_form(Trajectory<T>& run, const AnyRung<T>& rung, std::span<const Regime> regimes);

/// Steps at which a walk is looked at: those asked for, up to 512 evenly spread ones (and no more
/// than a quarter of all), and a geometric sequence of ratio 1.1 for what happens early. Only those asked for where
/// a row depends on which rows were before it.
std::vector<std::uint64_t> watched_steps(const WalkRequest& request);

/// Splits runs saved at `watched_steps(request)`: `rows` keeps the steps asked for, `step_rows`
/// all.
void keep_asked_rows(std::vector<Trajectory<double>>& runs, const WalkRequest& request);

/// Adds the regimes of walks to their events, from `step_rows` or else `rows`. Runs that ended
/// unusable have none; if one was interrupted, all are left for when it is whole.
void watch_walks(std::vector<Trajectory<double>>& runs, std::span<const Regime> regimes,
                 SeriesKind kind);

}  // namespace popgrad
