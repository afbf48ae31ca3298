#pragma once
/// Mean and covariance of SGD, predicted: what an ensemble is compared with.
///
/// With f the expected field, J its Jacobian, Sigma(x) the covariance of one draw and B the batch:
///   m <- m + eta (f(m) + 1/2 sum_ij C_ij d^2 f / dx_i dx_j)
///   C <- (I + eta J) C (I + eta J)' + (eta^2 / B) Sigma(m)
/// Exact for linear f; neglects third central moments, so the error of m is of order (eta/B)^2 and
/// that of C relative to it of order eta/B (measured in tests).

#include <cstdint>
#include <functional>
#include <vector>

#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

struct Moments {
  Vector<double> mean;        ///< (n)
  Matrix<double> covariance;  ///< (n x n)
};

/// Covariance of one draw (batch 1) of the random field at x, (n x n).
using DrawCovariance = std::function<Matrix<double>(const Vector<double>&)>;

/// Moments after each of `steps` (ascending). The rung needs its Jacobian.
/// Cost per step: n evaluations on dual numbers, 2 n plain ones, O(n^3); memory O(n^2).
std::vector<Moments> predict_moments(const AnyRung<double>& rung, const Vector<double>& initial,
                                     double step_size, Index batch,
                                     const std::vector<std::uint64_t>& steps,
                                     const DrawCovariance& draw_covariance);

}  // namespace popgrad
