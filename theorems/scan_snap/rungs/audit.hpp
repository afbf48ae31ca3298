#pragma once
/// Which hypotheses of the theory an instance meets, and which conclusions a trajectory shows.

#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap {

/// Hypotheses at the start; conclusions of Theorems 1 to 3 from the logits (pairs) of the first and
/// the last state, as shares of tokens or classes that miss them. Cost K^3 + nnz(P) K.
Examination audit(const TrainingInstance<double>& instance, const Vector<double>& first_logits,
                  const Vector<double>& last_logits, const std::vector<double>& last_xi);

}  // namespace popgrad::scan_snap
