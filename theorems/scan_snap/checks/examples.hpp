#pragma once
/// Instances and solves that the statements on scan and snap share.

#include <functional>
#include <type_traits>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/random_classes.hpp"

namespace popgrad::scan_snap::checks {

/// Rates eta_Y = 1 and eta_Z = 1/ratio, zero start, growth tracked if asked for.
TrainingInstance<double> with_ratio(SequenceClasses<double> classes, double ratio,
                                    bool track_growth = false);

/// States included, tolerances as given (relative) and 1e-14, no events.
Trajectory<double> follow(const AnyRung<double>& rung, std::vector<double> times,
                          double relative_tolerance = 1e-10);

/// Largest eigenvalue of E at the start; xi_n > 0 below 1/(1 + sqrt(K - 1)).
double largest_overlap(const SequenceClasses<double>& classes);
/// The same at features f (nnz).
double largest_overlap(const Layout& layout, const Vector<double>& f);
double overlap_bound(Index classes);

/// Where lambda_max(E) of an instance lies: below the bound.
inline constexpr Knob overlap_share = logarithmic_knob(
    "overlap", "lambda_max(E) of the features, in units of 1/(1 + sqrt(K - 1))", 0.02, 0.999, 0.5);

/// "lambda_max(E) < 1/(1 + sqrt(K - 1))" for these classes.
EvaluatedHypothesis overlap_below_bound(const SequenceClasses<double>& classes);

/// Classes by a parameter: apart at 0, the closer the larger it is.
using Family = std::function<SequenceClasses<double>(double)>;
/// The member of lambda_max(E) that the two knobs ask for. Throws std::invalid_argument if the
/// family does not get there.
SequenceClasses<double> at_chosen_overlap(const Setting& setting, const Knob& excess,
                                          const Family& family);

/// One query: class n has `distinct` tokens of its own, of weights uniform in (0.1, 1) that are
/// then made to sum to 1, or for distinct = 0 token n of the K shared ones. To this comes `mixing`
/// times a random pattern of shared tokens. Either any of them with probability 0.6, of weight u^3;
/// or a star: class 1 shares a token with each of the others, weakly with class 0. In a star
/// xi_0 < 0 comes about at the smallest lambda_max(E), about 1/sqrt(K - 2).
SequenceClasses<double> mingled_classes(Stream stream, Index classes, Index distinct, double mixing,
                                        Index tokens);

/// Streams of the instances that these statements draw.
inline constexpr std::uint32_t stream_of_drawn_classes = 0x5CA75U;

/// Multiplies P(l|n) of entry `entry` by `factor` and makes the law of its class sum to 1 again. For
/// double and Real.
template <class T>
void reweigh(SequenceClasses<T>& classes, Index entry, const std::type_identity_t<T>& factor);

}  // namespace popgrad::scan_snap::checks
