#pragma once
/// Numbers with what they may be off by: a bound that is a sum of named parts, each computed.
///
/// Parts are made by the functions below alone, each of which says what it is computed from; a
/// tolerance that somebody chose has no place among them.

#include <string_view>
#include <vector>

namespace popgrad {

/// One part of an error bound.
class ErrorPart {
 public:
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] double size() const { return size_; }
  /// The same part of a number that is `factor` times as large.
  [[nodiscard]] ErrorPart times(double factor) const;

  /// Of a solve: how far a solve at a hundred times the tolerance lies from it. An overestimate as
  /// long as errors fall with the tolerance.
  static ErrorPart solver(double sharp, double loose);
  /// Of `operations` roundings of numbers as large as `size`.
  static ErrorPart rounding(double operations, double size);
  /// Of a number that changes by `change` as what it is computed from moves by its roundings, and of
  /// `operations` of its own.
  static ErrorPart rounding_moved(double change, double operations, double number);
  /// Of an expansion that is cut off: a bound of the first term left out, as computed.
  static ErrorPart next_order(double term);
  /// Of a mean over draws: `standard_errors` from two_sided_normal_bound or its like.
  static ErrorPart sampling(double standard_errors, double standard_error);
  /// Of an extremum that is looked for on a grid: what a parabola through three points adds.
  static ErrorPart between_points(double gap);
  /// Half the width of an enclosure.
  static ErrorPart enclosure(double half_width);

 private:
  ErrorPart(std::string_view name, double size);
  std::string_view name_;
  double size_ = 0;
};

/// A number and the parts of its error bound; parts of one name are added up.
class Quantity {
 public:
  Quantity() = default;
  /// Known exactly, as far as a double says.
  Quantity(double value) : value_(value) {}
  Quantity(double value, const std::vector<ErrorPart>& parts);
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] const std::vector<ErrorPart>& parts() const { return parts_; }
  /// The sum of all parts.
  [[nodiscard]] double error() const;
  /// Of the part of this name; 0 if there is none.
  [[nodiscard]] double error(std::string_view name) const;
  void add(const ErrorPart& part);

 private:
  double value_ = 0;
  std::vector<ErrorPart> parts_;
};

/// First order in the errors.
Quantity operator-(const Quantity& a);
Quantity operator+(const Quantity& a, const Quantity& b);
Quantity operator-(const Quantity& a, const Quantity& b);
Quantity operator*(const Quantity& a, const Quantity& b);
Quantity operator/(const Quantity& a, const Quantity& b);
/// f(a) where f has the slope `slope` at a.
Quantity mapped(const Quantity& a, double value, double slope);
Quantity log(const Quantity& a);
Quantity exp(const Quantity& a);
Quantity abs(const Quantity& a);

}  // namespace popgrad
