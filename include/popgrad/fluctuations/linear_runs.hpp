#pragma once
/// Runs of SGD whose fluctuations are linear about their mean: in law what runs are to first order in
/// the step size, at a cost that does not grow with the batch and hardly with the number of steps.
///
/// With f the mean direction, J its Jacobian, Sigma(x) the covariance of one draw and C that of the state,
///   x <- x + eta (f(x) + 1/2 sum_ij C_ij d^2 f/dx_i dx_j)
///   d <- (I + eta J) d + (eta/sqrt(B)) Sigma(x)^(1/2) r,   r standard normal,
/// and the observables, which may be curved, are those of the state x + d. J, Sigma and the second
/// derivatives are taken once in a block of steps, a block at most 1/48 of the run, so that one draw
/// serves a block. Unlike those of popgrad/fluctuations/prediction.hpp, blocks are the same for every
/// law, so that runs of two settings have the same draws. To second order, J and Sigma are means over the
/// fluctuations, at x +- U r with U U' = C and random signs r, and the drift is that of the middle of a
/// block. What this leaves out (skewness, draws that differ with d) is for the caller to judge;
/// fluctuations/prediction_error.hpp estimates its size. Derived here.

#include <cstdint>
#include <vector>

#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

/// Whether J and Sigma are those of the mean, or means over the fluctuations.
enum class LinearOrder { first, second };

struct LinearRunsRequest {
  double step_size = 0;
  double batch = 1;                       ///< samples a step; need not be whole
  std::vector<std::uint64_t> save_steps;  ///< after which a row is written, ascending
  Index runs = 1;
  std::uint64_t seed = 0;  ///< the same draws for every rung of as many numbers
  LinearOrder order = LinearOrder::first;
};

/// Plain steps of a rung that knows its law of one draw, from its start, with all of its columns. Cost:
/// one evaluation of the mean direction a step; for a block 4 n evaluations (to second order 10 n) and
/// O(n^3 log(steps) + n^2 runs), n the size of the state; runs observations a row; memory
/// O(n (n + runs)). Throws std::invalid_argument if the law of a draw is not known.
std::vector<Trajectory<double>> linear_runs(const AnyRung<double>& sgd,
                                            const LinearRunsRequest& request);

/// Covariance of observables at all pairs of rows.
struct LinearCovariance {
  std::vector<double> t;
  /// Of observable c in row k: number k C + c of them, C observables.
  Matrix<double> covariance;
};

/// That of linear runs as their number grows, without drawing: with C_k the covariance of the state in
/// row k, Phi_kl what becomes of a deviation from row l to row k >= l, and G_k the gradients of the
/// observables at the mean state (n x C),
///   Cov(row k, row l) = G_k' Phi_kl C_l G_l
/// What the curvature of observables adds is left out. `runs` and `seed` of the request have no
/// meaning here. Cost: that of linear_runs without runs, 2 n observations and O(n^2 C) products for
/// every earlier row. Throws std::invalid_argument as above.
LinearCovariance linear_covariance(const AnyRung<double>& sgd, const LinearRunsRequest& request);

}  // namespace popgrad
