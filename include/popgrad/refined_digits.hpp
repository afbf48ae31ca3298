#pragma once
/// Measurements in many digits, for confirmations: what is written as a template on the scalar.
///
///   in_refined_digits([&]<class T>() { judge<T>(instance, it); });
///
/// measures in double, and in 40 digits under a refinement, except in a search. The instance is of doubles
/// and is taken as it is. Costs a hundred times as much and more.

#include "popgrad/refinement.hpp"
#include "popgrad/scalar/real.hpp"

namespace popgrad {

inline constexpr unsigned digits_of_refinement = 40;

template <class Measure>
auto in_refined_digits(const Measure& measure) {
  if (!refined_to_digits()) return measure.template operator()<double>();
  const DigitsScope scope(digits_of_refinement);
  return measure.template operator()<Real>();
}

}  // namespace popgrad
