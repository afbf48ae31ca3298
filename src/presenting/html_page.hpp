#pragma once
/// Pieces of a self-contained page: text made safe, pictures inline, the frame around all.

#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

/// Text with <, >, & and quotes as entities.
std::string html_text(std::string_view text);
/// Names as code, with commas between.
std::string code_list(const std::vector<std::string>& names);

/// A picture of gnuplot's svg terminal for use inside a page, with a description for readers who do
/// not see it. `prefix` makes its ids its own, so that several pictures can share a page.
std::string inline_picture(std::string_view svg, std::string_view prefix,
                           std::string_view description);

/// A table, on a narrow screen a list of its rows; cells are HTML.
class HtmlTable {
 public:
  HtmlTable(std::string caption, std::vector<std::string> header);
  /// A cell of HTML, sorted by its own text.
  HtmlTable& cell(std::string_view html);
  /// A number, aligned to the right, sorted by its value; NaN is an empty cell.
  HtmlTable& number(double value, std::string_view format);
  void end_row();
  /// Rows alone, and rows of another table with the same header.
  [[nodiscard]] const std::string& rows() const { return rows_; }
  void add_rows(std::string_view rows) { rows_ += rows; }
  /// `sortable`: a click on a header sorts by its column.
  [[nodiscard]] std::string html(bool sortable) const;

 private:
  std::string caption_;
  std::vector<std::string> header_;
  std::string rows_, row_;
  std::size_t column_ = 0;

  std::string next_label();
};

/// The page around `body`: style for screens, phones, paper and dark rooms, sorting of tables; no
/// file and no address beside it.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace popgrad
