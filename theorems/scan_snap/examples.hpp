#pragma once
/// Instances and solves that the statements on scan and snap share.

#include "popgrad/random.hpp"
#include "popgrad/scan_snap/instance.hpp"
#include "popgrad/solve.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

/// One query holding all K classes: `common` tokens in every class, `distinct` ones a class.
/// Weights of distinct tokens uniform in (0.1, 1); of common ones the same times `overlap`, drawn
/// anew for each class, or once for all if `alike`.
SequenceClasses<double> random_classes(Stream& stream, Index classes, Index common, Index distinct,
                                       double overlap, Index tokens, bool alike = false);

/// One query: every class has each of `support` tokens with probability 0.6 (at least one), of
/// weight u^3, u uniform: any pattern of sharing, from none to almost all.
SequenceClasses<double> scattered_classes(Stream& stream, Index classes, Index support,
                                          Index tokens);

/// Rates eta_Y = 1 and eta_Z = 1/ratio, zero start, growth tracked if asked for.
TrainingInstance<double> with_ratio(SequenceClasses<double> classes, double ratio,
                                    bool track_growth = false);

/// States included, tolerances 1e-10 (relative) and 1e-14, no events.
Trajectory<double> follow(const AnyRung<double>& rung, std::vector<double> times);

/// largest eigenvalue of E at the start, and the bound 1/(1 + sqrt(K - 1)) below which xi_n > 0.
double largest_overlap(const SequenceClasses<double>& classes);
double overlap_bound(Index classes);

}  // namespace popgrad::theorems::scan_snap
