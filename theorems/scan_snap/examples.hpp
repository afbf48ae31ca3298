#pragma once
/// Instances and solves that the statements on scan and snap share.

#include <functional>

#include "popgrad/scan_snap/instance.hpp"
#include "popgrad/scan_snap/layout.hpp"
#include "popgrad/scan_snap/random_classes.hpp"
#include "popgrad/solve.hpp"
#include "popgrad/statement.hpp"

namespace popgrad::theorems::scan_snap {

using namespace popgrad::scan_snap;

/// Rates eta_Y = 1 and eta_Z = 1/ratio, zero start, growth tracked if asked for.
TrainingInstance<double> with_ratio(SequenceClasses<double> classes, double ratio,
                                    bool track_growth = false);

/// States included, tolerances 1e-10 (relative) and 1e-14, no events.
Trajectory<double> follow(const AnyRung<double>& rung, std::vector<double> times);

/// largest eigenvalue of E at the start, and the bound 1/(1 + sqrt(K - 1)) below which xi_n > 0.
double largest_overlap(const SequenceClasses<double>& classes);
/// The same at features f (nnz).
double largest_overlap(const Layout& layout, const Vector<double>& f);
double overlap_bound(Index classes);

/// Where lambda_max(E) of an instance lies: below the bound, or beyond it.
inline constexpr Knob overlap_share{
    .name = "overlap",
    .meaning = "lambda_max(E) of the features, in units of 1/(1 + sqrt(K - 1))",
    .low = 0.02,
    .high = 0.999,
    .usual = 0.5,
    .spacing = Spacing::logarithmic};
/// `breaks`: the bound, as the statement words it.
constexpr Knob excess_overlap(std::string_view breaks) {
  return {.name = "excess overlap",
          .meaning = "lambda_max(E), as a share of the way from the bound to K - 1 (classes alike)",
          .low = 0.01,
          .high = 0.99,
          .usual = 0,
          .breaks = breaks};
}
/// lambda_max(E) that the two knobs ask for.
double chosen_overlap(const Setting& setting, const Knob& excess, Index classes);
/// "lambda_max(E) < 1/(1 + sqrt(K - 1))" for these classes.
Hypothesis overlap_below_bound(const SequenceClasses<double>& classes);

/// The one of a family of classes, apart at 0 and the closer the larger its parameter, that has
/// this lambda_max(E). Throws std::invalid_argument if none has.
SequenceClasses<double> at_overlap(const std::function<SequenceClasses<double>(double)>& family,
                                   double lambda);

/// One query: class n has `distinct` tokens of its own, of weights uniform in (0.1, 1) that are
/// then made to sum to 1, or for distinct = 0 token n of the shared ones. `mixing` times a random
/// pattern over K shared tokens (each with probability 0.6, weight u^3) makes classes overlap,
/// mixing^2/10 times all of them makes classes alike.
SequenceClasses<double> mingled_classes(Stream stream, Index classes, Index distinct, double mixing,
                                        Index tokens);

/// Multiplies P(l|n) of entry `entry` by `factor` and makes the law of its class sum to 1 again.
void reweigh(SequenceClasses<double>& classes, Index entry, double factor);

}  // namespace popgrad::theorems::scan_snap
