#pragma once
/// How well hidden units stand for binary latents: the score of Table 1 of JoMA, as far as known.

#include "popgrad/scalars/vector.hpp"

namespace popgrad::joma {

/// |corr(h_k, y_l)| over sequences of the given probability: latents x units, NaN in the row of a
/// latent without variance, 0 in the column of a unit without.
///   corr = E[(h_k - E h_k)(E[y_l | sequence] - E y_l)] / (sd(h_k) sd(y_l)),  Var y_l = E y_l (1 - E y_l)
/// `units`: h (units x N); `latents`: E[y | sequence] (latents x N). Cost O(units latents N).
Matrix<double> latent_correlations(const Matrix<double>& units, const Matrix<double>& latents,
                                   const Vector<double>& probability);

/// Means over the latents that vary; 0 if none does.
struct LatentScore {
  double free = 0;     ///< of the best unit of each latent
  double matched = 0;  ///< of the best assignment of a unit of its own to each latent
};
LatentScore latent_score(const Matrix<double>& correlations);

/// The largest sum of one entry a row, no two in one column, of a table of numbers >= 0 (n x m);
/// rows beyond m stay without. Shortest augmenting paths; Boost's matching is for general graphs and
/// takes O((n + m)^3).
/// Cost O(min(n, m)^2 max(n, m)).
/// Source: Kuhn (1955), Munkres (1957); potentials after Jonker and Volgenant (1987).
double largest_assignment(const Matrix<double>& value);

}  // namespace popgrad::joma
