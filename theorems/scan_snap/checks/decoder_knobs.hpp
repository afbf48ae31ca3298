#pragma once
/// Knobs that the statements on the decoder share; each statement gives their ranges.

#include "popgrad/evidence/knob.hpp"

namespace popgrad::scan_snap::checks {

constexpr Knob vocabulary_knob(double low, double high, double usual) {
  return {.name = "vocabulary",
          .meaning = "tokens M",
          .low = low,
          .high = high,
          .usual = usual,
          .spacing = Spacing::logarithmic};
}
constexpr Knob decoder_rate_knob(double low, double high) {
  return {.name = "decoder-rate",
          .meaning = "learning rate eta_Y",
          .low = low,
          .high = high,
          .usual = 1,
          .spacing = Spacing::logarithmic};
}
constexpr Knob class_count_knob(double low, double high, double usual) {
  return {.name = "classes",
          .meaning = "classes K",
          .low = low,
          .high = high,
          .usual = usual,
          .spacing = Spacing::whole};
}
constexpr Knob common_count_knob(double low, double high, double usual) {
  return {.name = "common-tokens",
          .meaning = "tokens that all classes have",
          .low = low,
          .high = high,
          .usual = usual,
          .spacing = Spacing::whole};
}
constexpr Knob common_weight_knob(double low, double high) {
  return {.name = "common-weight",
          .meaning = "weight of a common token in units of a distinct one",
          .low = low,
          .high = high,
          .usual = 1,
          .spacing = Spacing::logarithmic};
}
/// Features that move: attention learns beside the decoder.
constexpr Knob attention_rate_knob =
    logarithmic_knob("attention-rate", "learning rate eta_Z of attention", 1e-5, 10, 0)
        .breaking("features at rest");

/// Features of the class drawn and of another one.
constexpr Knob feature_overlap_knob =
    logarithmic_knob("feature-overlap", "f_n.f_j with a class j that is drawn as often, at random",
                     1e-4, 1, 0)
        .breaking("orthonormal features");

/// Where a gradient is looked at.
constexpr Knob state_size_knob = logarithmic_knob(
    "size-of-the-state", "standard deviation of the entries of Y and Z", 0.01, 3, 1);

}  // namespace popgrad::scan_snap::checks
