#include "presenting/result_table.hpp"

#include <algorithm>
#include <cmath>

#include "presenting/html_page.hpp"

namespace popgrad {

std::string ResultTable::text(std::string_view indent) const {
  const std::size_t count = columns_.size();
  std::vector<std::size_t> widths;
  for (const ResultColumn& column : columns_) widths.push_back(column.least);
  for (const Row& row : rows_) {
    const std::size_t fitted = row.cells.size() < count ? row.cells.size() - 1 : count;
    for (std::size_t c = 0; c < fitted; ++c) {
      widths[c] = std::max(widths[c], row.cells[c].text.size());
    }
  }
  const bool named =
      std::ranges::any_of(columns_, [](const ResultColumn& c) { return !c.heading.empty(); });
  std::string text;
  for (std::size_t k = named ? 0 : 1; k < rows_.size(); ++k) {
    text += indent;
    for (std::size_t c = 0; c < rows_[k].cells.size(); ++c) {
      if (c > 0) text.append(columns_[c].gap, ' ');
      const std::string& cell = rows_[k].cells[c].text;
      text += !columns_[c].words ? fmt::format("{:>{}}", cell, widths[c])
              : c + 1 < count    ? fmt::format("{:<{}}", cell, widths[c])
                                 : cell;
    }
    text += '\n' + rows_[k].note;
  }
  return text;
}

std::string ResultTable::html_rows() const {
  std::string html;
  for (std::size_t k = 1; k < rows_.size(); ++k) {
    html += "<tr>";
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Cell& cell = rows_[k].cells.at(c);
      const std::string label = html_text(columns_[c].heading);
      if (c == 0) {  // names its row
        html += fmt::format("<th scope=\"row\" data-label=\"{}\">{}</th>", label, cell.text);
      } else if (!cell.number) {
        html += fmt::format("<td data-label=\"{}\">{}</td>", label, cell.text);
      } else if (std::isnan(*cell.number)) {
        html += fmt::format("<td class=\"number\" data-label=\"{}\"></td>", label);
      } else {
        html += fmt::format("<td class=\"number\" data-label=\"{}\" data-key=\"{:.17g}\">{}</td>",
                            label, *cell.number, cell.text);
      }
    }
    html += "</tr>\n";
  }
  return html;
}

std::string ResultTable::html(std::string_view caption, bool sortable,
                              std::string_view more_rows) const {
  std::string html = fmt::format(
      "<div class=\"scroll\"><table class=\"stacked{}\">\n<caption>{}</caption>\n<thead><tr>",
      sortable ? " sortable" : "", html_text(caption));
  for (const ResultColumn& column : columns_) {
    html += fmt::format("<th scope=\"col\">{}</th>", html_text(column.heading));
  }
  return fmt::format("{}</tr></thead>\n<tbody>\n{}{}</tbody></table></div>\n", html, html_rows(),
                     more_rows);
}

}  // namespace popgrad
