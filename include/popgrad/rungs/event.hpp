#pragma once
/// Events that a rung has a solve look for along its trajectory.

#include <functional>
#include <string>

#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// What to look for along a trajectory.
enum class EventKind {
  crossing,  ///< `value` passes 0
  minimum,   ///< an observable has a minimum: `value` is its rate of change, passing 0 upwards
  maximum,   ///< the same downwards
};

template <class T>
struct EventFinder {
  std::string name;    ///< as in output: `entropy-minimum`
  std::string column;  ///< the observable or component it concerns
  EventKind kind = EventKind::crossing;
  std::function<T(const Vector<T>&, const T&)> value;   ///< the function whose zero is sought
  std::function<T(const Vector<T>&, const T&)> report;  ///< the number to print at the event
};

}  // namespace popgrad
