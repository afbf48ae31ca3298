#pragma once
/// A formula of a user over the columns of a table, in doubles: + - * / ^, parentheses, numbers, names
/// of columns (with any characters, the longest first) and a few functions of one argument.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

class RowFormula {
 public:
  /// Throws std::invalid_argument saying what is wrong and where.
  RowFormula(std::string_view text, std::span<const std::string> columns);

  /// Columns that it reads, by number; each once.
  [[nodiscard]] const std::vector<std::size_t>& reads() const { return reads_; }
  /// Of a row, `value(column)` being its number in a column.
  template <class F>
  double operator()(const F& value) const {
    std::vector<double> values;
    for (const std::size_t column : reads_) values.push_back(value(column));
    return of(values);
  }

 private:
  struct Step {
    char what;              // n: number, c: column, f: function, ~: minus, else the operation
    double number = 0;      // of n
    std::size_t place = 0;  // of c in reads_, of f in the list of functions
  };
  class Parser;
  std::vector<Step> steps_;  // operands before their operation
  std::vector<std::size_t> reads_;

  [[nodiscard]] double of(const std::vector<double>& values) const;
};

}  // namespace popgrad
