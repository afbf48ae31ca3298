#include "presenting/observables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "presenting/html_page.hpp"
#include "presenting/math_text.hpp"

namespace popgrad {
namespace {

using Lines = std::vector<std::string_view>;

// Blocks of lines with empty lines between.
std::vector<Lines> blocks_of(std::string_view section) {
  std::vector<Lines> blocks;
  bool open = false;
  while (!section.empty()) {
    const std::size_t end = std::min(section.find('\n'), section.size());
    const std::string_view line = section.substr(0, end);
    section.remove_prefix(std::min(end + 1, section.size()));
    if (line.empty()) {
      open = false;
      continue;
    }
    if (!open) blocks.emplace_back();
    open = true;
    blocks.back().push_back(line);
  }
  return blocks;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// `code`, *stress*, and formulas in what is left.
std::string text_html(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    std::size_t mark = text.find('`');
    // A star before a letter opens a stress that one behind a letter closes; alpha* is none.
    std::size_t star = text.find('*');
    std::size_t close = std::string_view::npos;
    if (star != std::string_view::npos && star < mark && (star == 0 || text[star - 1] == ' ')) {
      close = text.find('*', star + 1);
    }
    const bool stressed = close != std::string_view::npos;
    if (stressed) mark = star;
    html += math_html(text.substr(0, mark));
    if (mark == std::string_view::npos) break;
    if (!stressed) close = text.find('`', mark + 1);
    if (close == std::string_view::npos) return html + html_text(text.substr(mark));
    std::string inside;
    // Names of columns may be broken behind an underscore.
    for (const char c : text.substr(mark + 1, close - mark - 1)) {
      inside += html_text(std::string_view(&c, 1));
      if (c == '_' && !stressed) inside += "<wbr>";
    }
    html += fmt::format("<{0}>{1}</{0}>", stressed ? "em" : "code", inside);
    text.remove_prefix(close + 1);
  }
  return html;
}

// "| a | b |", where a bar of a cell is written with a backslash.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cells.back() += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  cells.pop_back();  // behind the last bar
  for (std::string& cell : cells) cell = std::string(trimmed(cell));
  return cells;
}

std::string table_html(const Lines& lines, std::string_view caption) {
  const std::vector<std::string> header = cells_of(lines.front());
  HtmlTable table(std::string(caption), header);
  for (std::size_t i = 2; i < lines.size(); ++i) {
    std::vector<std::string> cells = cells_of(lines[i]);
    cells.resize(header.size());
    for (const std::string& cell : cells) table.cell(text_html(cell));
    table.end_row();
  }
  return table.html(false);
}

// An indented block: a formula a line, with words at a distance behind it.
std::string formulas_html(const Lines& lines) {
  std::string rows;
  for (const std::string_view line : lines) {
    rows += "<tr>";
    std::string_view rest = trimmed(line);
    while (!rest.empty()) {
      const std::size_t gap = rest.find("   ");
      rows += fmt::format("<td>{}</td>", text_html(rest.substr(0, gap)));
      rest = gap == std::string_view::npos ? std::string_view{} : trimmed(rest.substr(gap));
    }
    rows += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\"><table class=\"formulas\"><tbody>\n{}</tbody></table></div>\n", rows);
}

}  // namespace

std::string observables_html(std::string_view section, std::string_view caption) {
  std::string html;
  for (const Lines& lines : blocks_of(section)) {
    if (lines.front().starts_with('|') && lines.size() > 2) {
      html += table_html(lines, caption);
      continue;
    }
    if (lines.front().starts_with("    ")) {
      html += formulas_html(lines);
      continue;
    }
    std::string text;
    for (const std::string_view line : lines) {
      text += (text.empty() ? "" : " ") + std::string(line);
    }
    html += fmt::format("<p>{}</p>\n", text_html(text));
  }
  return html;
}

}  // namespace popgrad
