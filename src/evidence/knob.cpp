#include "popgrad/evidence/knob.hpp"

#include <algorithm>
#include <cmath>

namespace popgrad {

double value_at(const Knob& knob, double fraction) {
  const double part = std::clamp(fraction, 0.0, 1.0);
  if (part == 0) return knob.low;
  if (part == 1) return knob.high;
  switch (knob.spacing) {
    case Spacing::logarithmic:
      return knob.low * std::pow(knob.high / knob.low, part);
    case Spacing::whole:
      // Each number has a cell of equal width.
      return std::min(knob.high, knob.low + std::floor(part * (knob.high - knob.low + 1)));
    case Spacing::linear:
      break;
  }
  return knob.low + part * (knob.high - knob.low);
}

double fraction_of(const Knob& knob, double value) {
  const double inside = std::clamp(value, knob.low, knob.high);
  switch (knob.spacing) {
    case Spacing::logarithmic:
      return std::log(inside / knob.low) / std::log(knob.high / knob.low);
    case Spacing::whole:
      return (inside - knob.low + 0.5) / (knob.high - knob.low + 1);
    case Spacing::linear:
      break;
  }
  return (inside - knob.low) / (knob.high - knob.low);
}

}  // namespace popgrad
