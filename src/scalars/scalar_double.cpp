#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "popgrad/scalars/scalar.hpp"
#include "scalars/number_text.hpp"

namespace popgrad {

template <>
double from_text<double>(std::string_view text) {
  const FractionText fraction = parse_number(text);
  // strtod rounds a decimal correctly; a quotient is rounded once more by the division.
  const double value = fraction.is_quotient ? std::strtod(fraction.numerator.c_str(), nullptr) /
                                                  std::strtod(fraction.denominator.c_str(), nullptr)
                                            : std::strtod(std::string(text).c_str(), nullptr);
  if (!std::isfinite(value)) {
    throw std::invalid_argument("'" + std::string(text) +
                                "' is too large for a double; give --digits above 16");
  }
  return value;
}

// The sign of what is no number depends on the machine.
std::string to_text(double x) { return std::isnan(x) ? "nan" : fmt::format("{:.17g}", x); }

}  // namespace popgrad
