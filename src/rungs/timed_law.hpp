#pragma once
/// Callables of a rung whose law depends on time: solvers and walks ask a rung's functions for these by their type, others
/// only call them.

#include <functional>
#include <vector>

#include "popgrad/base/index.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// A field that jumps as a function of time, which ends a step of a solve there.
template <class T>
struct JumpingField {
  std::function<void(const Vector<T>& x, Vector<T>& slope, const T& t)> value;
  /// Times in (start, end] at which it jumps, ascending.
  std::function<std::vector<T>(const T& start, const T& end)> jumps;

  void operator()(const Vector<T>& x, Vector<T>& slope, const T& t) const { value(x, slope, t); }
};

/// Draws of a field that depends on time.
struct TimedDraws {
  std::function<void(const Vector<double>& x, Vector<double>& slope, Stream& stream, Index batch)>
      sample;
  std::function<void(double t)> at_time;  ///< sets the time of what is drawn next

  void operator()(const Vector<double>& x, Vector<double>& slope, Stream& stream,
                  Index batch) const {
    sample(x, slope, stream, batch);
  }
};

}  // namespace popgrad
