#include "presenting/observables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "presenting/catalogue.hpp"
#include "presenting/html_page.hpp"
#include "presenting/math_text.hpp"
#include "presenting/result_table.hpp"

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

// An indented block: a formula a line, with words at a distance behind it.
std::string formulas_html(const Lines& lines) {
  std::string rows;
  for (const std::string_view line : lines) {
    rows += "<tr>";
    std::string_view rest = trimmed(line);
    while (!rest.empty()) {
      const std::size_t gap = rest.find("   ");
      rows += fmt::format("<td>{}</td>", math_html(rest.substr(0, gap)));
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
  ResultTable table(
      {words("column"), words("rungs"), words("formula"), words("range"), words("meaning")});
  for (const SharedObservable& one : observables_of(model)) {
    table.add(code_html(one.info.name), one.rungs.empty() ? "all" : code_list(one.rungs),
              math_html(one.info.formula), math_html(one.info.range), math_html(one.info.meaning));
  }
  return paragraphs_html(model.notation()) +
         table.html(fmt::format("Observables of {}", model.name()), false);
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
    html += fmt::format("<p>{}</p>\n", math_html(running));
  }
  return html;
}

}  // namespace popgrad
