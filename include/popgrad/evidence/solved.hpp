#pragma once
/// A rung solved at several tolerances, so that whatever is read off the solution comes with its
/// solver error.
///
/// Once at the tolerance asked for and looser by 33, 100, 300 and 1000: the largest difference bounds
/// the error of the sharpest solve as long as errors fall with the tolerance; beyond 100 it counts in
/// proportion. One difference alone is 0 by chance wherever an error changes its sign; and each solve
/// stops elsewhere between save points, the sharpest twice, as steps that no tolerance limits would be
/// those of all. Cost: five solves, of which the looser ones take fewer steps. Under a refinement
/// (popgrad/scalars/refinement.hpp) the sharpest solve takes the tolerance of that, and the looser ones follow;
/// in Real, tolerances are those of many digits (popgrad/evidence/refined_digits.hpp). Throws Stopped where work
/// was asked to end.
///
/// Rounding is computed on the number itself: each step rounds a component by half a spacing at most,
/// so that all are moved by a spacing a step, with eight fixed patterns of signs; the largest change of
/// the number shows what cancels in it, and the noise of its own formula, as every pattern rounds
/// differently.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/scalars/quantity.hpp"

namespace popgrad {

/// A number that is read off a state.
template <class T>
using FunctionalIn = std::function<T(const Vector<T>& state)>;
using Functional = FunctionalIn<double>;
/// Numbers, as many of each state.
template <class T>
using FunctionalsIn = std::function<Vector<T>(const Vector<T>& state)>;
using Functionals = FunctionalsIn<double>;

/// For double and for Real.
template <class T>
class SolvedIn {
 public:
  /// States at the save points, and how many steps led there.
  struct Solution {
    std::vector<Vector<T>> states;
    std::vector<double> steps;
  };
  /// Solves from `rung.initial` to each of `times` in turn (ascending, >= 0); relative tolerance as
  /// given, in Real 1e-24, absolute tolerance a hundredth of it. Throws std::runtime_error, with how it ended, if
  /// a solve does not get there.
  SolvedIn(const AnyRung<T>& rung, std::vector<double> times, double tolerance);

  [[nodiscard]] std::size_t size() const { return times_.size(); }
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  [[nodiscard]] const Vector<T>& state(std::size_t save) const { return sharp_.states[save]; }
  /// "t = 12.5", one a save point.
  [[nodiscard]] std::vector<std::string> places() const;
  /// Parts: solver, rounding.
  [[nodiscard]] Quantity at(std::size_t save, const FunctionalIn<T>& functional) const;
  /// The same of many numbers, for as many evaluations as one takes.
  [[nodiscard]] std::vector<Quantity> all_at(std::size_t save,
                                             const FunctionalsIn<T>& functionals) const;
  /// At every save point.
  [[nodiscard]] std::vector<Quantity> along(const FunctionalIn<T>& functional) const;

 private:
  std::vector<double> times_;
  Solution sharp_;
  std::vector<Solution> loose_;
};
using Solved = SolvedIn<double>;

/// Largest value of a functional over the whole of [0, end], from the ends of the solver's steps
/// and three points of its dense output inside each. Parts: solver, between points, rounding.
/// Throws std::runtime_error as Solved does.
Quantity largest_along(const AnyRung<double>& rung, double end, double tolerance,
                       const Functional& functional);
/// The same for the smallest value.
Quantity smallest_along(const AnyRung<double>& rung, double end, double tolerance,
                        const Functional& functional);

/// What the event finders of a rung find on [0, end].
struct FoundEvent {
  std::string name;
  Quantity time;   ///< parts: solver, rounding
  Quantity value;  ///< of the event's column; parts: solver, rounding
};
/// Throws std::runtime_error as Solved does, and if the solves do not find the same events.
std::vector<FoundEvent> events_of(const AnyRung<double>& rung, double end, double tolerance);

}  // namespace popgrad
