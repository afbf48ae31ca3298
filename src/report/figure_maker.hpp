#pragma once
/// How one figure comes about: its info and a function that makes its data as CSV files.

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/trajectory.hpp"
#include "report/drawing.hpp"
#include "report/figure.hpp"

namespace popgrad {

struct FigureMaker {
  FigureInfo info;
  std::function<std::vector<FigureFile>(const FigureRequest&)> data;
};

/// Rows of numbers and words under a header line. NaN is written as an empty field, which gnuplot
/// takes as missing.
class CsvText {
 public:
  explicit CsvText(std::initializer_list<std::string_view> names);
  explicit CsvText(const std::vector<std::string>& names);
  CsvText& number(double value);
  CsvText& word(std::string_view text);
  void end_row();
  /// Two empty lines: the next rows are the next data set (gnuplot's `index`).
  void end_block() { text_ += "\n\n"; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool at_start_ = true;
};

/// Throws std::runtime_error naming the figure if a solve did not reach its end.
void require_usable(const Outcome& outcome, std::string_view figure);

}  // namespace popgrad
