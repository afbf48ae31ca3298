#include "scalars/number_text.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <stdexcept>

#include "popgrad/scalars/scalar.hpp"

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

std::optional<std::string> whole_digits(std::string_view text) {
  FractionText fraction;
  try {
    fraction = parse_number(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  if (fraction.is_quotient) return std::nullopt;
  std::string digits = fraction.numerator;
  const std::size_t places = fraction.denominator.size() - 1;  // it is a power of ten
  if (digits == "0") return digits;
  if (digits.size() <= places || digits.find_last_not_of('0') + places >= digits.size()) {
    return std::nullopt;
  }
  digits.resize(digits.size() - places);
  return digits;
}

std::string short_text(double x) {
  std::string text = fmt::format("{}", x);
  if (const double size = x < 0 ? -x : x; size >= 1e6 && size < 1e16) {
    const std::string whole = fmt::format("{:.0f}", x);
    const std::size_t zeros = whole.size() - whole.find_last_not_of('0') - 1;
    text = zeros < 6 ? whole : fmt::format("{}e{}", whole.substr(0, whole.size() - zeros), zeros);
  } else if (const std::size_t e = text.find('e'); e != std::string::npos) {
    if (text[e + 2] == '0') text.erase(e + 2, 1);
    if (text[e + 1] == '+') text.erase(e + 1, 1);
  }
  return text;
}

namespace {

std::string with_ends(const Range& range, bool low, bool high) {
  std::string rule;
  if (low) {
    const bool positive = range.low == least_positive;
    rule += fmt::format("{} {}", range.without_low || positive ? ">" : ">=",
                        positive ? "0" : short_text(range.low));
  }
  if (low && high) rule += " and ";
  if (high) rule += fmt::format("{} {}", range.without_high ? "<" : "<=", short_text(range.high));
  return rule;
}

}  // namespace

std::string rule_of(const Range& range) {
  return with_ends(range, range.low != -largest_number, range.high != largest_number);
}

std::optional<std::string> refusal_of_number(std::string_view text, const Range& range) {
  const std::string rule = "must be " + with_ends(range, true, true);
  double value = 0;
  try {
    value = from_text<double>(text);
  } catch (const std::invalid_argument&) {
    return "is not a finite number; it " + rule;
  }
  const bool vanishes = value == 0 && parse_number(text).numerator != "0";
  const bool any_positive = range.low == 0 && range.without_low;
  if (vanishes && any_positive) return std::nullopt;
  if (range.low == least_positive && value < range.low && (value > 0 || vanishes)) {
    return fmt::format("must be >= {} and {} {}", short_text(range.low),
                       range.without_high ? "<" : "<=", short_text(range.high));
  }
  if (vanishes)
    return fmt::format("is too small; give 0, or {} in size", short_text(least_positive));
  if (allows(range, value)) return std::nullopt;
  return rule;
}

std::optional<std::string> refusal_of_whole(std::string_view text, const Range& range) {
  const std::optional<std::string> digits = whole_digits(text);
  if (digits) {
    // An end of 2^64, not itself allowed, is the only one that no double has.
    std::uint64_t size = 0;
    const bool negative = digits->front() == '-';
    const char* const begin = digits->data() + (negative ? 1 : 0);
    const char* const end = digits->data() + digits->size();
    const auto [stop, error] = std::from_chars(begin, end, size);
    const auto value = negative ? -static_cast<long double>(size) : static_cast<long double>(size);
    if (error == std::errc{} && stop == end && allows(range, value)) return std::nullopt;
  }
  const std::string most = range.without_high
                               ? fmt::format("{:.0f}", static_cast<long double>(range.high) - 1)
                               : short_text(range.high);
  return fmt::format("must be a whole number from {} to {}", short_text(range.low), most);
}

}  // namespace popgrad
