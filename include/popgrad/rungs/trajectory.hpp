#pragma once
/// What a solve or a walk hands back: rows of observables, events, and how it ended.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// How a solve ended. Only `reached_end` and `blew_up` can support a verdict.
enum class Ending {
  reached_end,     ///< the state at the time asked for is there
  blew_up,         ///< a component tends to infinity at a time that was located
  step_underflow,  ///< the step fell below the spacing of numbers at t
  not_a_number,    ///< the field or the state stopped being finite
  diverged,        ///< a walk left what it can come back from; a note says which quantity and why
  budget_exhausted,  ///< the step budget of the whole solve is used up, or would be a hundred times over
  interrupted,       ///< asked to stop from outside
};

/// One sentence for people, with the remedy.
std::string describe(Ending ending);

struct Outcome {
  Ending ending = Ending::reached_end;
  double t_reached = 0;
  std::size_t steps_taken = 0;
  std::size_t steps_rejected = 0;
  std::size_t evaluations = 0;     ///< of the right-hand side
  std::vector<std::string> notes;  ///< changes of method or clock, with the time
  [[nodiscard]] bool usable() const {
    return ending == Ending::reached_end || ending == Ending::blew_up;
  }
};

template <class T>
struct Event {
  std::string name;
  T t{};
  std::string column;
  T value{};
  /// Of t, as an absolute error bound in practice, not in proof; 0: not estimated.
  double uncertainty = 0;
};

/// Place of a column by its name. Throws std::logic_error, naming those there are.
std::size_t place_of(const std::vector<std::string>& columns, std::string_view name);

template <class T>
struct Trajectory {
  std::vector<std::string> columns;  ///< without `t`
  std::vector<T> t;                  ///< save points reached
  std::vector<std::vector<T>> rows;  ///< one a save point
  std::vector<Vector<T>> states;     ///< one a save point, if asked for
  std::vector<T> step_t;             ///< ends of the solver's steps and points inside, if asked for
  std::vector<std::vector<T>> step_rows;  ///< observables there
  Vector<T> last_state;                   ///< at outcome.t_reached (for a checkpoint)
  Vector<T> last_memory;         ///< of the optimiser then; empty for flows and plain steps
  std::vector<Event<T>> events;  ///< in order of time
  Outcome outcome;

  /// The values of a column, one a save point reached. Throws std::logic_error for a name that is none.
  [[nodiscard]] std::vector<T> column(std::string_view name) const {
    const std::size_t place = place_of(columns, name);
    std::vector<T> values;
    values.reserve(rows.size());
    for (const std::vector<T>& row : rows) values.push_back(row[place]);
    return values;
  }
};

}  // namespace popgrad
