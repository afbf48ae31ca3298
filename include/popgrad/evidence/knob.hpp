#pragma once
/// A parameter of a statement's check that may be chosen: what `falsify` searches
/// and `frontier` turns.

#include <string_view>

#include "popgrad/evidence/declarations.hpp"

namespace popgrad {

enum class Spacing {
  linear,
  logarithmic,  ///< low > 0
  whole,        ///< whole numbers, evenly
};

/// Declared beside the check that reads it: `setting.value(temperature)`.
struct Knob {
  std::string_view name;     ///< the field's term: temperature
  std::string_view meaning;  ///< one line, with its unit
  double low = 0;
  double high = 1;
  double usual = 0;  ///< where `verify` examines
  Spacing spacing = Spacing::linear;
  /// The hypothesis that every value in [low, high] but `usual` violates, the more the farther from
  /// `usual`; empty: all values lie within the hypotheses, and `falsify` may choose any.
  std::string_view breaks = {};

  /// The same knob, every value of which but `usual` breaks the hypothesis.
  [[nodiscard]] constexpr Knob breaking(const Hypothesis& hypothesis) const {
    Knob broken = *this;
    broken.breaks = hypothesis.text;
    return broken;
  }
};

/// Name, meaning, lowest, highest and usual value.
constexpr Knob linear_knob(std::string_view name, std::string_view meaning, double low, double high,
                           double usual) {
  return {name, meaning, low, high, usual, Spacing::linear};
}
constexpr Knob logarithmic_knob(std::string_view name, std::string_view meaning, double low,
                                double high, double usual) {
  return {name, meaning, low, high, usual, Spacing::logarithmic};
}
constexpr Knob whole_knob(std::string_view name, std::string_view meaning, double low, double high,
                          double usual) {
  return {name, meaning, low, high, usual, Spacing::whole};
}

/// The value at `fraction` in [0, 1] of the way from low to high.
double value_at(const Knob& knob, double fraction);
/// The inverse of it: 0 at low, 1 at high.
double fraction_of(const Knob& knob, double value);

}  // namespace popgrad
