#pragma once
/// What the statements on the closed forms of the decoder measure: h integrated, h* - h, limits.

#include <functional>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/interval.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks {

/// M and eta_Y, of the user's instance or of the two knobs.
struct Decoder {
  double vocabulary, rate;
};
/// The user's instance, or `count` classes of one token each, whose laws do not matter, with M and
/// eta_Y of the two knobs.
TrainingInstance<double> decoder_training(const Setting& setting, Index count,
                                          const Knob& vocabulary, const Knob& rate);
Decoder decoder_of(const TrainingInstance<double>& training);
Decoder chosen_decoder(const Setting& setting, const Knob& vocabulary, const Knob& rate);

/// The number nearest to the middle of an interval, which lies within the part "enclosure".
Quantity enclosed(const Interval& x);

/// Numbers computed with many digits, with the largest change of any of them when computed with
/// fewer as the part "solver" of each.
std::vector<Quantity> with_change(const std::vector<double>& many_digits,
                                  const std::vector<double>& fewer_digits);

/// Limit of value(p) as p -> 0, from p = 2 nearest and p = nearest.
Quantity limit_of(double nearest, const std::function<Quantity(double)>& value);

/// x = M h (one number) on the clock eta_Y s, by the rate that training runs:
///   dx/d(eta_Y s) = M/(M - 1 + exp(x))
AnyRung<double> decoder_flow(double vocabulary);

/// Where h' has fallen to exp(-fall) of its first value eta_Y/M: eta_Y s and M h.
struct Fallen {
  double clock, x;
};
Fallen fallen(double vocabulary, double fall);

/// (h* - h)/((h'/2) ln(eta_Y/(M h'))) where that logarithm is `fall`, as eta_Y -> 0.
Quantity discrete_gap(double vocabulary, double fall);

/// h <= h* <= h + 2 eta_Y/M, enclosed: negative where the bounds hold. The implicit relation
///   exp(M h) + (M-1) M h - M eta_Y s - 1, over M eta_Y s,
/// rises with h; here it is at h*(s) - 2 eta_Y/M and, negated, at h*(s). At s = 1, 2, ... until
/// h* - h has passed its largest value, where h' has fallen by e, and as long again.
std::vector<Quantity> beyond_bounds_of_gap(double vocabulary, double decoder_rate);

/// The decoder of class n after so many draws of it: w and e_n - alpha at the next tokens of n and of
/// a class j, and at each of the M - 2 other tokens.
struct AfterDraws {
  long draws;
  Vector<Real> w, error;
};
/// After 1, 2, 4, ... and all draws of class n, by the answer that training runs. If features
/// overlap, draws of class j come between at random, and either moves the row of the other by the
/// overlap as much.
std::vector<AfterDraws> repeated_draws(const Decoder& decoder, double overlap, long draws,
                                       std::uint64_t seed);

}  // namespace popgrad::scan_snap::checks
