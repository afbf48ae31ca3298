#include "popgrad/judging/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace popgrad {

double WrittenDigits::unit_at(double x) const {
  if (unit == 0 || x == 0) return unit;
  return std::max(unit, std::pow(10.0, std::floor(std::log10(std::fabs(x))) - significant + 1));
}

double WrittenDigits::rounded(double x) const {
  const double step = unit_at(x);
  return step > 0 ? step * std::round(x / step) : x;
}

WrittenDigits digits_of(const std::vector<double>& column) {
  int last = std::numeric_limits<int>::max(), most = 0;
  for (const double x : column) {
    if (!std::isfinite(x) || x == 0) continue;
    // Shortest text that reads as x, d.ddde+xx: of a number with few digits, these.
    const std::string text = fmt::format("{}", std::fabs(x));
    const std::size_t end = std::min(text.find('e'), text.size());
    const int power = end < text.size() ? std::stoi(text.substr(end + 1)) : 0;
    std::string digits = text.substr(0, end);
    const std::size_t point = std::min(digits.find('.'), digits.size());
    if (point < digits.size()) digits.erase(point, 1);
    const std::size_t first_digit = digits.find_first_not_of('0');
    const std::size_t last_digit = digits.find_last_not_of('0');
    last = std::min(last, power + static_cast<int>(point) - 1 - static_cast<int>(last_digit));
    most = std::max(most, static_cast<int>(last_digit - first_digit) + 1);
  }
  return most > 0 ? WrittenDigits{std::pow(10.0, last), most} : WrittenDigits{};
}

WrittenDigits digits_of(const std::vector<RecordedRun>& runs, std::size_t column) {
  WrittenDigits fewest;
  for (const RecordedRun& run : runs) {
    if (column >= run.digits.size()) continue;
    fewest.unit = std::max(fewest.unit, run.digits[column].unit);
    fewest.significant = std::min(fewest.significant, run.digits[column].significant);
  }
  return fewest;
}

RecordedRun mean_of(const std::vector<RecordedRun>& runs) {
  RecordedRun mean = runs.front();
  mean.gaps.clear();
  mean.rates.clear();
  mean.without_time = 0;
  mean.label = fmt::format("mean of {}", runs.size());
  mean.averaged = static_cast<double>(runs.size());
  for (std::size_t c = 0; c < mean.values.size(); ++c) {
    for (std::size_t k = 0; k < mean.t.size(); ++k) {
      double sum = 0;
      for (const RecordedRun& run : runs) sum += run.values[c][k];
      mean.values[c][k] = sum / mean.averaged;  // NaN where one of them has none
    }
  }
  return mean;
}

}  // namespace popgrad
