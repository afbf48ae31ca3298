#pragma once
/// The one adapter over Boost.Odeint: a rung, a method, tolerances, save points -> Trajectory.
///
/// Odeint's quiet defaults are not used: tolerances have none here, save points are met exactly,
/// budgets hold for the whole solve, and every failure is an `Ending`. Instantiated for double and
/// Real in src/solve_double.cpp and src/solve_real.cpp.
///
/// Cost per step at dimension n: dopri5 6 evaluations and about 12 vectors of n; bulirsch-stoer
/// about k^2 evaluations, k <= 9 for double and some 0.6 columns a digit for Real; rosenbrock4 one Jacobian (n
/// evaluations on dual numbers, where a rung has none 2 n + 2 for differences), an LU of n^3 / 3, n^2 memory.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

enum class Method {
  automatic,       ///< dopri5; rosenbrock4 while stability limits dopri5; bulirsch-stoer for Real
  dopri5,          ///< Dormand-Prince 5(4), dense output of order 4
  bulirsch_stoer,  ///< extrapolation, for many digits
  rosenbrock4,     ///< L-stable, for stiff fields; up to 2000 numbers of state
};

/// `auto`, `dopri5`, ...; throws InputError naming what is allowed.
Method method_from_name(std::string_view name);
std::string name_of(Method method);

/// x, dx, t.
using FieldInDouble = std::function<void(const Vector<double>&, Vector<double>&, double)>;

template <class T>
struct SolveRequest {
  T start{0};
  T end{0};
  std::vector<T> save_at;  ///< ascending, within [start, end]
  Method method = Method::automatic;
  T relative_tolerance{};  ///< per step, > 0
  T absolute_tolerance{};  ///< per step, > 0
  std::size_t step_budget = 10'000'000;
  bool keep_states = false;
  bool find_events = true;
  /// Observe at the ends of the steps and at three points inside each, for regimes: where the
  /// solution moves fast, there the rows are dense. At most 2^14 rows, thinned evenly beyond; none for
  /// more than 10,000 numbers of state.
  bool observe_steps = false;
  /// Which observables of steps are wanted, where a rung can leave others out (NaN); empty: all.
  std::vector<bool> step_columns;
  bool find_blow_up = true;
  /// The rung's field in double, of a solve in digits; may be empty. Signs and rows inside its steps then cost
  /// next to nothing, and what is found there is made sure of in digits as without it.
  FieldInDouble field_in_double;
  /// Called about every 256 steps, of Reals after every step, with the time reached; returns true to stop
  /// (Ending::interrupted). A request to stop (popgrad/base/stop.hpp) ends a solve in the same way.
  std::function<bool(double)> on_progress;
};

/// Integrates `rung` from `initial` over [request.start, request.end].
/// Throws std::invalid_argument for tolerances <= 0, unsorted save points, a rung without rhs, or too large a method.
template <class T>
Trajectory<T> solve(const AnyRung<T>& rung, const Vector<T>& initial,
                    const SolveRequest<T>& request);

/// The rung's own initial state.
template <class T>
Trajectory<T> solve(const AnyRung<T>& rung, const SolveRequest<T>& request) {
  return solve(rung, rung.initial, request);
}

/// `count` >= 2 equally spaced times from start to end, ends exact:
///   start + k (end - start)/(count - 1)
template <class T>
std::vector<T> equally_spaced(const T& start, const T& end, std::size_t count);

}  // namespace popgrad
