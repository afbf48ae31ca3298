#include "presenting/observables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "presenting/catalogue.hpp"
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

std::vector<ObservableInfo> infos_of(const Model& model, const Rung& rung) {
  if (!rung.observables.empty()) return rung.observables;
  std::vector<ObservableInfo> infos;
  for (std::string& name : column_patterns(model, rung.info))
    infos.push_back({std::move(name), {}, {}});
  return infos;
}

}  // namespace

std::vector<SharedObservable> observables_of(const Model& model) {
  std::vector<SharedObservable> all;
  for (const Rung& rung : model.table()) {
    for (ObservableInfo& info : infos_of(model, rung)) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const SharedObservable& other) {
        return other.info.name == info.name && other.info.formula == info.formula &&
               other.info.range == info.range;
      });
      if (same != all.end()) {
        same->rungs.push_back(rung.info.name);
        continue;
      }
      // Behind the last of its name, if there is one.
      const auto named = std::find_if(all.rbegin(), all.rend(), [&](const SharedObservable& other) {
        return other.info.name == info.name;
      });
      all.insert(named == all.rend() ? all.end() : named.base(),
                 {std::move(info), {rung.info.name}});
    }
  }
  for (SharedObservable& one : all) {
    if (one.rungs.size() == model.table().size()) one.rungs.clear();
  }
  return all;
}

std::string observables_html(const Model& model) {
  HtmlTable table(fmt::format("Observables of {}", model.name()),
                  {"column", "rungs", "formula", "range", "meaning"});
  for (const SharedObservable& one : observables_of(model)) {
    table.cell(text_html(fmt::format("`{}`", one.info.name)))
        .cell(one.rungs.empty() ? "all" : code_list(one.rungs))
        .cell(text_html(one.info.formula))
        .cell(text_html(one.info.range))
        .cell(text_html(one.info.meaning))
        .end_row();
  }
  return paragraphs_html(model.notation()) + table.html(false);
}

std::string paragraphs_html(std::string_view text) {
  std::string html;
  for (const Lines& lines : blocks_of(text)) {
    if (lines.front().starts_with("    ")) {
      html += formulas_html(lines);
      continue;
    }
    std::string running;
    for (const std::string_view line : lines) {
      running += (running.empty() ? "" : " ") + std::string(line);
    }
    html += fmt::format("<p>{}</p>\n", text_html(running));
  }
  return html;
}

}  // namespace popgrad
