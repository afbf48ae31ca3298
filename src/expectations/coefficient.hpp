#pragma once
/// Coefficients of terms: sums of rational numbers times whole powers of sizes, which keep their names.
///
///   1 + (d + 1)/n
///
/// Sizes are those of axes, as they are named, and what is divided by, such as n - 1. A number that is written as a
/// number stays one.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "formulas/graph.hpp"
#include "popgrad/scalars/rational.hpp"

namespace popgrad::expectations {

using formulas::Array;

class Coefficient {
 public:
  /// Exponents, none of which is 0, by the texts of sizes.
  using Powers = std::map<std::string, long, std::less<>>;
  /// By the exponent of the first size in which they differ, which products with a third keep.
  struct ByExponents {
    bool operator()(const Powers& a, const Powers& b) const;
  };
  using Summands = std::map<Powers, Rational, ByExponents>;

  Coefficient(Rational number = 1);
  Coefficient(int number) : Coefficient(Rational(number)) {}
  /// The extent of an axis, by its name where it has one.
  explicit Coefficient(const formulas::Dimension& size);

  Coefficient& operator+=(const Coefficient& other);
  Coefficient& operator*=(const Coefficient& other);
  Coefficient operator-() const;
  /// None where its value is 0.
  [[nodiscard]] std::optional<Coefficient> inverse() const;
  /// One of its summands; of 0 it is 0.
  [[nodiscard]] Coefficient leading() const;

  /// At the sizes that there are.
  [[nodiscard]] Rational value() const;
  /// Whether no size is in it.
  [[nodiscard]] bool is_number() const;
  /// Whether it is 0 at all sizes.
  [[nodiscard]] bool is_zero() const;
  /// As a number of the graph, with the names of sizes.
  [[nodiscard]] Array array(formulas::Graph& graph) const;

 private:
  // Multiplied out, without divisors that divide.
  [[nodiscard]] Coefficient reduced() const;
  [[nodiscard]] Rational value_of(const Powers& powers) const;
  [[nodiscard]] std::string text() const;

  Summands summands_;                                    // none is 0
  std::map<std::string, Rational, std::less<>> values_;  // of sizes
};

/// The value of a number made of literals and sizes.
std::optional<Rational> rational_value(const Array& array);
/// The same with the names of sizes; none: it is another number, or divides by 0.
std::optional<Coefficient> coefficient_of(const Array& array);
/// 1 over it, each factor of a product by itself.
std::optional<Coefficient> inverse_of(const Array& array);

}  // namespace popgrad::expectations
