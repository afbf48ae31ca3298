#include "number_text.hpp"

#include <cctype>
#include <charconv>
#include <stdexcept>

namespace popgrad {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument(
      "'" + std::string(text) +
      "' is not a number; give a decimal such as -1.5e-3 or a quotient p/q");
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The decimal `text` as integer digits (with sign) and a power of ten.
std::pair<std::string, long> mantissa_and_exponent(std::string_view text, std::string_view whole) {
  std::string digits;
  long exponent = 0;
  std::size_t at = 0;
  bool negative = false;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
  bool any = false;
  while (at < text.size() && is_digit(text[at])) {
    digits += text[at++];
    any = true;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && is_digit(text[at])) {
      digits += text[at++];
      --exponent;
      any = true;
    }
  }
  if (!any) refuse(whole);
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at + 1 < text.size() && text[at] == '+' && is_digit(text[at + 1])) ++at;
    long power = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), power);
    if (error != std::errc{} || power > 100000 || power < -100000) refuse(whole);
    at = static_cast<std::size_t>(end - text.data());
    exponent += power;
  }
  if (at != text.size()) refuse(whole);
  const std::size_t first = digits.find_first_not_of('0');
  digits = first == std::string::npos ? "0" : digits.substr(first);
  return {(negative && digits != "0" ? "-" : "") + digits, exponent};
}

}  // namespace

FractionText parse_number(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    const auto [digits, exponent] = mantissa_and_exponent(text, text);
    const std::string zeros(static_cast<std::size_t>(exponent < 0 ? -exponent : exponent), '0');
    if (exponent >= 0) return {digits == "0" ? digits : digits + zeros, "1", false};
    return {digits, "1" + zeros, false};
  }
  const auto [p, p_exponent] = mantissa_and_exponent(text.substr(0, slash), text);
  const auto [q, q_exponent] = mantissa_and_exponent(text.substr(slash + 1), text);
  if (p_exponent != 0 || q_exponent != 0 || q == "0" || q.front() == '-') refuse(text);
  return {p, q, true};
}

}  // namespace popgrad
