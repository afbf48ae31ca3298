#pragma once
/// A table of results as a value, and what text and HTML make of it.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace popgrad {

struct ResultColumn {
  std::string heading;
  std::size_t least;   ///< width in text where heading and cells need less
  std::size_t gap;     ///< blanks in front of it in text
  bool words;          ///< aligned to the left; numbers to the right
  std::string digits;  ///< of its numbers, such as .3g
};

inline ResultColumn words(std::string_view heading, std::size_t least = 0, std::size_t gap = 1) {
  return {std::string(heading), least, gap, true, {}};
}
inline ResultColumn numbers(std::string_view heading, std::size_t least = 0,
                            std::string_view digits = {}, std::size_t gap = 1) {
  return {std::string(heading), least, gap, false, std::string(digits)};
}

class ResultTable {
 public:
  explicit ResultTable(std::vector<ResultColumn> columns) : columns_(std::move(columns)) {
    std::vector<Cell>& headings = rows_.emplace_back().cells;
    for (const ResultColumn& column : columns_) headings.push_back({column.heading});
  }
  /// A row of texts and numbers. One that ends before the last column has a last cell of any length.
  template <class... Values>
  void add(const Values&... values) {
    std::vector<Cell>& cells = rows_.emplace_back().cells;
    (cells.push_back(cell(columns_.at(cells.size()), values)), ...);
  }
  void add_row(const std::vector<std::string>& texts) {
    std::vector<Cell>& cells = rows_.emplace_back().cells;
    for (const std::string& text : texts) cells.push_back({text});
  }
  /// Lines below the last row, or the headings.
  template <class... Values>
  void note(fmt::format_string<Values...> form, Values&&... values) {
    rows_.back().note += fmt::format(form, std::forward<Values>(values)...);
  }

  /// Columns are as wide as their widest cells; without headings there is no line of them.
  [[nodiscard]] std::string text(std::string_view indent = {}) const;
  /// Cells are HTML; a number is sorted by its value, and NaN is an empty cell.
  [[nodiscard]] std::string html_rows() const;
  /// With rows of other tables of the same columns; on a narrow screen a list of its rows. `sortable`: a
  /// click on a header sorts by its column.
  [[nodiscard]] std::string html(std::string_view caption, bool sortable,
                                 std::string_view more_rows = {}) const;

 private:
  struct Cell {
    std::string text;
    std::optional<double> number = {};
  };
  struct Row {
    std::vector<Cell> cells;
    std::string note;
  };
  template <class T>
  static Cell cell(const ResultColumn& column, const T& value) {
    const std::string form = std::is_floating_point_v<T> ? "{:" + column.digits + "}" : "{}";
    Cell cell{fmt::format(fmt::runtime(form), value)};
    if constexpr (std::is_arithmetic_v<T>) cell.number = static_cast<double>(value);
    return cell;
  }

  std::vector<ResultColumn> columns_;
  std::vector<Row> rows_;  // the first: headings
};

}  // namespace popgrad
