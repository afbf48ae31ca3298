#pragma once
/// Instances and solves that the statements on scan and snap share.

#include "popgrad/scan_snap/instance.hpp"
#include "popgrad/scan_snap/random_classes.hpp"
#include "popgrad/solve.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

/// Rates eta_Y = 1 and eta_Z = 1/ratio, zero start, growth tracked if asked for.
TrainingInstance<double> with_ratio(SequenceClasses<double> classes, double ratio,
                                    bool track_growth = false);

/// States included, tolerances 1e-10 (relative) and 1e-14, no events.
Trajectory<double> follow(const AnyRung<double>& rung, std::vector<double> times);

/// largest eigenvalue of E at the start, and the bound 1/(1 + sqrt(K - 1)) below which xi_n > 0.
double largest_overlap(const SequenceClasses<double>& classes);
double overlap_bound(Index classes);

}  // namespace popgrad::theorems::scan_snap
