#pragma once
/// What the solver's error does to the times of events.
///
/// Steps of order p are chosen so that their errors are proportional to the tolerance, so a solve
/// at tolerances `ratio` times looser differs from the solution by some `ratio` times the error of
/// the first; a share
///   margin / ratio
/// of the difference bounds that error unless the looser solve is better than its tolerance by more
/// than `margin`. It takes ratio^(-1/p) of the steps, and goes on to the last event only.
///
/// Events of a finder move by -g / (dg/dt), g being the finder's function of the looser solution at
/// the time that was found. Regimes are looked for again in every second row, to which that share
/// of the difference between the solutions is added: how far a time moves with the rows is part of
/// it.

#include <functional>
#include <span>

#include "popgrad/rungs/regime.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"

namespace popgrad {

/// Whose event it is; null for one of a regime or of the solver.
template <class T>
const EventFinder<T>* finder_of(const AnyRung<T>& rung, const Event<T>& event) {
  for (const EventFinder<T>& finder : rung.events) {
    if (finder.name == event.name && finder.column == event.column) return &finder;
  }
  return nullptr;
}

/// Adds to the uncertainty of every event of `run`, a solve by `request` from the start of the rung
/// that reached its end and has rows of its steps. False, and nothing is added, where it does not
/// say enough: the tolerance leaves no room for a looser one, the looser solve fails, or an event
/// is not seen again. `looked_again` returns true to stop.
template <class T>
bool add_time_errors(Trajectory<T>& run, const AnyRung<T>& rung, std::span<const Regime> regimes,
                     const SolveRequest<T>& request, const std::function<bool()>& looked_again);

}  // namespace popgrad
