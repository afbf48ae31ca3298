#pragma once
/// Steps of a rung that looks ahead over several of them: what AnyRung::sample_step holds then.

#include <functional>

#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

struct StepsInBlocks {
  /// One step in place: state, step size, stream, batch.
  std::function<void(Vector<double>&, double, Stream&, Index)> step;
  /// Would the next step but count? Then nothing of the state can cease to be finite.
  std::function<bool(const Vector<double>&)> within;
  /// The state as one from which a block begins, as files have it.
  std::function<Vector<double>(const Vector<double>&)> settled;

  void operator()(Vector<double>& x, double step_size, Stream& stream, Index batch) const {
    step(x, step_size, stream, batch);
  }
};

}  // namespace popgrad
