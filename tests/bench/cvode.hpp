#pragma once
/// SUNDIALS CVODE on a right-hand side of ours: the peer that the flow solver is timed against.

#include <functional>

#include "popgrad/scalars/vector.hpp"

namespace popgrad::bench {

struct CvodeResult {
  Vector<double> state;
  long steps = 0, evaluations = 0;
};

/// x' = rhs(x) from 0 to `end`. Adams with fixed-point iteration; `stiff`: BDF with matrix-free
/// Newton-Krylov (SPGMR). Throws std::runtime_error with CVODE's message.
CvodeResult integrate_with_cvode(
    const std::function<void(const Vector<double>&, Vector<double>&)>& rhs,
    const Vector<double>& initial, double end, double relative, double absolute, bool stiff);

}  // namespace popgrad::bench
