#pragma once
/// The population flow from V(0) = 11'/N beside that from mu 1'. With w = 1/N - mu:
///
///   projected      V' and A' depend on V by <V,P>, <V,V> and (V - mu 1') - w1' alone: w1' stays
///   not projected  u = V mu; to leading order in 1/T, S_k = u.mu/|u|^2 at all times, and
///                    du/dt = S (mu - S u),
///                  which has no component along u
/// Derived here.

#include <string>
#include <vector>

#include "popgrad/scalars/quantity.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

/// Along the growth, three a time: |V - V'|_mu over |w| of both runs, alpha_V and alpha_A of one
/// over the other.
struct ProjectedRuns {
  std::vector<Quantity> measured;
  std::vector<Quantity> felt;  ///< what they would be if <V,P> had D in place of C
  std::vector<std::string> places;
};
ProjectedRuns projected_runs(Training<double> training);

/// After t = 1/(N |mu|^2) of the flow that is not projected, as T grows (doubled twice, from a T >= 10
/// N^2 |mu|^2, at which S follows ten times as fast as V mu turns): the rate at which V mu has turned
/// towards mu, sqrt(N) |V mu|, and the mean of S_k over sqrt(N) |mu| cos(angle).
std::vector<Quantity> turning(Training<double> training);

}  // namespace popgrad::scb::checks
