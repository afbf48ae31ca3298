#pragma once
/// Regimes of training, found in the series of an observable rather than by eye: minima, rebounds,
/// fastest changes, plateaus.
///
/// A stage is a stretch in which the speed |dy/dt| rises to a peak and falls again; a plateau is
/// entered where the speed falls below a twentieth of the peak and stays there for at least the
/// time in which the stage makes its change at full speed, and left likewise before a stage. So the
/// times are properties of the curve near them; they do not depend on where the run ends.

#include <span>
#include <string>
#include <vector>

#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

enum class RegimeKind {
  minimum,         ///< the observable falls to it and rises from it
  rebound,         ///< after its first minimum, where it rises fastest
  fastest_change,  ///< inside a stage, where the speed peaks
  settling,        ///< the first plateau that follows a stage: its entry
  plateau,         ///< every plateau: NAME-entry and NAME-escape
};

/// A few words for people.
std::string describe(RegimeKind kind);

struct Regime {
  std::string name;    ///< as in output: `snap`
  std::string column;  ///< an observable; `*` stands for any text, for one of every class
  RegimeKind kind = RegimeKind::minimum;
};

/// How the rows of a series came about.
enum class SeriesKind {
  smooth,   ///< a solution, a closed form, descent on the expectation: polynomials through the rows
  sampled,  ///< SGD, or recorded elsewhere: local quadratic regression at two widths
};

/// Rows this few show nothing.
inline constexpr std::size_t fewest_rows = 25;

/// Which of these columns the regimes are found in.
std::vector<bool> columns_of_regimes(const std::vector<std::string>& columns,
                                     std::span<const Regime> regimes);

/// Regimes of the rows (`step_rows` where there are any, else `rows`), in order of time. The
/// uncertainty of a time is the difference between two widths of the local fit (7 and 13 rows; a
/// sixteenth of the rows and twice that for sampled ones) and, for sampled ones, half a spacing.
/// What only one of the widths shows is left out. Cost O(rows width) an observable.
template <class T>
std::vector<Event<T>> find_regimes(const Trajectory<T>& run, std::span<const Regime> regimes,
                                   SeriesKind kind);

/// Adds to the uncertainty of each event of a solve the distance to the nearest of its name and column in a
/// looser solve. Those of which the looser one has none are named in `notes` and returned.
template <class T>
std::vector<std::size_t> confirm(std::vector<Event<T>>& events, const std::vector<Event<T>>& looser,
                                 std::vector<std::string>& notes);

/// One regime over the runs of a rung.
struct RegimeTime {
  std::string name, column;
  std::size_t ordinal = 0;  ///< 0 for the first of its name and column in a run
  double t = 0;             ///< the mean over the runs that show it
  double uncertainty = 0;   ///< of one run: the spread over runs, or that of the time itself
  std::size_t runs = 0;     ///< that show it
};

/// In order of time; a run's k-th event of a name and column goes with the k-th of the others.
std::vector<RegimeTime> regime_times(const std::vector<Trajectory<double>>& runs);

}  // namespace popgrad
