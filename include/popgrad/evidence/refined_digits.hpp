#pragma once
/// Measurements in many digits, for confirmations: what is written as a template on the scalar.
///
///   in_refined_digits([&]<class T>() { judge<T>(instance, it); });
///
/// measures in double, and in 40 digits under a refinement, except in a search. The instance is of doubles
/// and is taken as it is. Costs a hundred times as much and more.

#include <type_traits>

#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/scalars/refinement.hpp"

namespace popgrad {

inline constexpr unsigned digits_of_refinement = 40;

template <class Measure>
auto in_refined_digits(const Measure& measure) {
  if (!refined_to_digits()) return measure.template operator()<double>();
  const DigitsScope scope(digits_of_refinement);
  return measure.template operator()<Real>();
}

/// A number made in T by `operations` roundings of numbers as large as `size`; in Real one more rounds it to
/// the double that is kept.
template <class T>
Quantity rounded(const T& value, double operations, double size) {
  const double kept = to_double(value);
  const double change = operations * size * to_double(machine_epsilon<T>());
  return {kept, {ErrorPart::rounding_moved(change, std::is_same_v<T, double> ? 0 : 1, kept)}};
}

}  // namespace popgrad
