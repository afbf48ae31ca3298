#include "popgrad/scalars/quantity.hpp"

#include <cmath>
#include <limits>

namespace popgrad {

ErrorPart::ErrorPart(std::string_view name, double size) : name_(name), size_(std::fabs(size)) {}

ErrorPart ErrorPart::times(double factor) const { return {name_, size_ * factor}; }

ErrorPart ErrorPart::solver(double sharp, double loose) { return {"solver", loose - sharp}; }

ErrorPart ErrorPart::rounding(double operations, double size) {
  return {"rounding", operations * size * std::numeric_limits<double>::epsilon()};
}

ErrorPart ErrorPart::rounding_moved(double change, double operations, double number) {
  return {"rounding", std::fabs(change) + rounding(operations, std::fabs(number)).size()};
}

ErrorPart ErrorPart::next_order(double term) { return {"next order", term}; }

ErrorPart ErrorPart::sampling(double standard_errors, double standard_error) {
  return {"sampling", standard_errors * standard_error};
}

ErrorPart ErrorPart::between_points(double gap) { return {"between points", gap}; }

ErrorPart ErrorPart::enclosure(double half_width) { return {"enclosure", half_width}; }

Quantity::Quantity(double value, const std::vector<ErrorPart>& parts) : value_(value) {
  for (const ErrorPart& part : parts) add(part);
}

double Quantity::error() const {
  double sum = 0;
  for (const ErrorPart& part : parts_) sum += part.size();
  return sum;
}

double Quantity::error(std::string_view name) const {
  for (const ErrorPart& part : parts_) {
    if (part.name() == name) return part.size();
  }
  return 0;
}

void Quantity::add(const ErrorPart& part) {
  for (ErrorPart& own : parts_) {
    if (own.name() != part.name()) continue;
    own = own.size() > 0 ? own.times(1 + part.size() / own.size()) : part;
    return;
  }
  parts_.push_back(part);
}

namespace {

Quantity sum_of_errors(double value, const Quantity& a, double of_a, const Quantity& b,
                       double of_b) {
  Quantity result(value);
  for (const ErrorPart& part : a.parts()) result.add(part.times(std::fabs(of_a)));
  for (const ErrorPart& part : b.parts()) result.add(part.times(std::fabs(of_b)));
  return result;
}

}  // namespace

Quantity operator-(const Quantity& a) { return mapped(a, -a.value(), -1); }

Quantity operator+(const Quantity& a, const Quantity& b) {
  return sum_of_errors(a.value() + b.value(), a, 1, b, 1);
}

Quantity operator-(const Quantity& a, const Quantity& b) {
  return sum_of_errors(a.value() - b.value(), a, 1, b, 1);
}

Quantity operator*(const Quantity& a, const Quantity& b) {
  return sum_of_errors(a.value() * b.value(), a, b.value(), b, a.value());
}

Quantity operator/(const Quantity& a, const Quantity& b) {
  const double ratio = a.value() / b.value();
  return sum_of_errors(ratio, a, 1 / b.value(), b, ratio / b.value());
}

Quantity mapped(const Quantity& a, double value, double slope) {
  return sum_of_errors(value, a, slope, Quantity(), 0);
}

Quantity log(const Quantity& a) { return mapped(a, std::log(a.value()), 1 / a.value()); }

Quantity exp(const Quantity& a) {
  const double value = std::exp(a.value());
  return mapped(a, value, value);
}

Quantity abs(const Quantity& a) { return mapped(a, std::fabs(a.value()), 1); }

}  // namespace popgrad
