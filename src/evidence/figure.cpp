#include "popgrad/evidence/figure.hpp"
#include "popgrad/base/failure.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace popgrad {

CsvText::CsvText(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) word(name);
  end_row();
}

CsvText::CsvText(const std::vector<std::string>& names) {
  for (const std::string& name : names) word(name);
  end_row();
}

CsvText& CsvText::number(double value) {
  return word(std::isnan(value) ? std::string{} : fmt::format("{:.17g}", value));
}

CsvText& CsvText::word(std::string_view text) {
  if (!at_start_) text_ += ',';
  text_ += text;
  at_start_ = false;
  return *this;
}

void CsvText::end_row() {
  text_ += '\n';
  at_start_ = true;
}

void require_usable(const Outcome& outcome, std::string_view figure) {
  if (outcome.usable()) return;
  throw Failure(fmt::format("figure {}: at t = {:.6g}: {}", figure, outcome.t_reached,
                            describe(outcome.ending)));
}

}  // namespace popgrad
