#include "base/number_field.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace popgrad {

std::optional<double> number_field(std::string_view text) {
  if (text.empty()) return std::numeric_limits<double>::quiet_NaN();
  // The library takes no plus.
  if (text.front() == '+') {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return {};
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(text).c_str(), nullptr);  // next to 0, or too large
    if (!std::isfinite(value)) return {};
  }
  return value;
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

}  // namespace popgrad
