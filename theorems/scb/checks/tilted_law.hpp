#pragma once
/// Instances whose stationary law is drawn first, so that it stays as well conditioned as N grows.

#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

/// mu_k proportional to 1 + spread (2 u - 1), u uniform in (0, 1), 0 <= spread < 1 (N).
Vector<double> tilted_law(Index tokens, double spread, std::uint64_t seed, std::uint32_t run);

/// A kernel with this stationary law: entries drawn, columns and rows scaled in turn until the
/// joint law P diag(mu) has the margins mu, to rounding (Sinkhorn); Q = 2, V(0) = mu 1'.
Training<double> tilted_training(Index tokens, Index context, double spread, std::uint64_t seed);

/// |1/N - mu|^2 of drawn laws (draws x 1).
Matrix<double> squared_offsets(Index tokens, double spread, std::uint32_t draws,
                               std::uint64_t seed);

}  // namespace popgrad::scb::checks
