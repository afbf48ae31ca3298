#pragma once
/// Where the statements on the closed forms of the decoder are examined, and their limits.

#include <functional>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks {

/// M and eta_Y, of the user's instance or of the two knobs.
struct Decoder {
  double vocabulary, rate;
};
/// The user's instance, or `count` classes of one token each, whose laws do not matter, with M and
/// eta_Y of the two knobs.
TrainingInstance<double> decoder_training(const Setting& setting, Index count, const Knob& tokens,
                                          const Knob& rate);
Decoder decoder_of(const TrainingInstance<double>& training);
Decoder chosen_decoder(const Setting& setting, const Knob& tokens, const Knob& rate);

/// Limit of value(p) as p -> 0, from p = 2 nearest and p = nearest.
Quantity limit_of(double nearest, const std::function<Quantity(double)>& value);

}  // namespace popgrad::scan_snap::checks
