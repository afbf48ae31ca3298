#pragma once
/// Knobs that the statements on the decoder share; each statement gives their ranges.

#include "popgrad/evidence/knob.hpp"

namespace popgrad::scan_snap::checks {

constexpr Knob vocabulary_knob(double low, double high, double usual) {
  return logarithmic_knob("vocabulary", "tokens M", low, high, usual);
}
constexpr Knob decoder_rate_knob(double low, double high) {
  return logarithmic_knob("decoder-rate", "learning rate eta_Y", low, high, 1);
}
constexpr Knob class_count_knob(double low, double high, double usual) {
  return whole_knob("classes", "classes K", low, high, usual);
}
constexpr Knob common_count_knob(double low, double high, double usual) {
  return whole_knob("common-tokens", "tokens that all classes have", low, high, usual);
}
constexpr Knob common_weight_knob(double low, double high) {
  return logarithmic_knob("common-weight", "weight of a common token in units of a distinct one",
                          low, high, 1);
}
/// Features that move: attention learns together with the decoder.
constexpr Knob attention_rate_knob =
    logarithmic_knob("attention-rate", "learning rate eta_Z of attention", 1e-5, 10, 0)
        .breaking("features at rest");

/// Where a gradient is taken.
constexpr Knob state_size_knob = logarithmic_knob(
    "size-of-the-state", "standard deviation of the entries of Y and Z", 0.01, 3, 1);

}  // namespace popgrad::scan_snap::checks
