#include "presenting/html_page.hpp"

#include <fmt/format.h>

#include <cmath>

namespace popgrad {
namespace {

constexpr std::string_view style = R"css(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1a1a1a; --faint: #5c5c5c;
  --line: #d0d0d0; --card: #f6f6f4; --link: #0b5394; --good: #00694d; --bad: #b00020; --open: #7a5200; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181a; --ink: #e8e6e3; --faint: #a8a6a2;
  --line: #3a3d40; --card: #202326; --link: #8ab4f8; --good: #5fd3a6; --bad: #ff8a80; --open: #ffca6a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem clamp(0.75rem, 3vw, 2rem) 4rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; margin: 0.5rem 0; } h2 { font-size: 1.3rem; margin: 2.2rem 0 0.6rem; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 0.4rem; }
a { color: var(--link); } p { max-width: 46rem; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 0.875em; }
code { overflow-wrap: anywhere; } th code { overflow-wrap: normal; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--card); padding: 0.6rem; border-radius: 4px; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.3rem 1rem; }
.skip { position: absolute; left: -999px; } .skip:focus { position: static; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
caption { text-align: left; color: var(--faint); padding: 0.3rem 0; }
th, td { text-align: left; padding: 0.28rem 0.6rem 0.28rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th[scope=col] { white-space: nowrap; } td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid var(--link); }
th button::after { content: " \2195"; color: var(--faint); }
th[aria-sort=ascending] button::after { content: " \2191"; } th[aria-sort=descending] button::after { content: " \2193"; }
.holds { color: var(--good); font-weight: 600; } .violated { color: var(--bad); font-weight: 700; }
.inconclusive, .not-applicable { color: var(--open); font-weight: 600; }
details { border-bottom: 1px solid var(--line); padding: 0.35rem 0; } summary { cursor: pointer; }
summary code { font-weight: 600; }
figure { margin: 1rem 0; } figcaption { color: var(--faint); font-size: 0.9rem; }
figure svg { background: #ffffff; border-radius: 4px; max-width: 100%; height: auto; }
.wide svg { width: min(46rem, 100%); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); gap: 1rem; align-items: start; }
.note { color: var(--faint); font-size: 0.9rem; }
.unfinished { border-left: 4px solid var(--open); padding-left: 0.8rem; }
math { font-size: 1.08em; font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", "Libertinus Math", "STIX Math", math; }
.equation { overflow: auto hidden; padding: 0.3rem 0; } .equation math { width: max-content; text-align: left; }
.formulas { margin: 0.6rem 0; padding-left: 1.5rem; border-collapse: separate; width: auto; }
.formulas td { border: 0; padding-right: 2rem; }
figure.margins { display: grid; grid-template-columns: minmax(10rem, 24rem) minmax(14rem, 34rem); gap: 0.1rem 1rem;
  align-items: center; font-size: 0.85rem; }
figure.margins svg { background: none; border-radius: 0; width: 100%; height: 16px; overflow: visible; }
.margins line { stroke: var(--line); } .margins .bound { stroke: var(--faint); }
.margins line.as-wanted { stroke: var(--good); stroke-width: 2; } .margins line.not-wanted { stroke: var(--bad); stroke-width: 2; }
.margins circle.as-wanted { fill: var(--good); stroke: var(--good); stroke-width: 2; }
.margins circle.not-wanted { fill: var(--bad); stroke: var(--bad); stroke-width: 2; } .margins circle.control { fill: var(--paper); }
.margins text { fill: var(--faint); font-size: 0.7rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.15rem 1rem; }
/* A long formula is not broken into lines: its block scrolls, not the page. */
p, dd, figcaption { overflow: auto hidden; } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { figure.margins { grid-template-columns: 1fr; } .margins .label { padding-top: 0.3rem; }
  dl { grid-template-columns: minmax(0, 1fr); } dt { font-weight: 600; }
  table.stacked thead { position: absolute; left: -9999px; }
  table.stacked tr { display: block; border-bottom: 1px solid var(--line); padding: 0.4rem 0; }
  table.stacked td, table.stacked th[scope=row] { display: block; position: relative; border: 0; padding: 0.08rem 0 0.08rem 7.3rem;
    min-height: 1.6rem; text-align: left; white-space: normal; overflow-wrap: anywhere; overflow: auto hidden; }
  table.stacked td::before, table.stacked th[scope=row]::before { content: attr(data-label); position: absolute; left: 0; width: 6.8rem;
    color: var(--faint); font-weight: 400; } }
@media print { body { max-width: none; } nav, .skip { display: none; } details { break-inside: avoid; }
  figure { break-inside: avoid; } th button::after { content: ""; } a { color: inherit; } }
)css";

// Sorting, and opening what a link leads to: without it the page is complete.
constexpr std::string_view script = R"js(
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => row.cells[column].dataset.key ?? row.cells[column].textContent;
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row, place) => ({ row, place, key: key(row) }));
      const compare = (a, b) => {
        const x = parseFloat(a.key), y = parseFloat(b.key);
        const byNumber = !Number.isNaN(x) && !Number.isNaN(y);
        const order = byNumber ? x - y : a.key.localeCompare(b.key);
        return (down ? -order : order) || a.place - b.place;
      };
      body.append(...rows.sort(compare).map(entry => entry.row));
    });
  });
}
// A link to evidence opens it.
const openTarget = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", openTarget);
openTarget();
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
)js";

// Puts the prefix before every id and every reference to one.
std::string with_own_ids(std::string_view svg, std::string_view prefix) {
  std::string text;
  text.reserve(svg.size() + svg.size() / 8);
  constexpr std::string_view marks[]{"id=\"", "id='", "href='#", "href=\"#", "url(#"};
  for (std::size_t at = 0; at < svg.size();) {
    bool found = false;
    for (const std::string_view mark : marks) {
      if (svg.substr(at, mark.size()) != mark) continue;
      text += mark;
      text += prefix;
      at += mark.size();
      found = true;
      break;
    }
    if (!found) text += svg[at++];
  }
  return text;
}

// gnuplot's names of plots would show up as hints under the pointer.
std::string without_titles(std::string_view svg) {
  constexpr std::string_view open = "<title>";
  constexpr std::string_view close = "</title>";
  std::string text;
  while (true) {
    const std::size_t begin = svg.find(open);
    text += svg.substr(0, begin);
    if (begin == std::string_view::npos) return text;
    const std::size_t end = svg.find(close, begin);
    if (end == std::string_view::npos) return text;
    svg.remove_prefix(end + close.size());
  }
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string code_list(const std::vector<std::string>& names) {
  std::string html;
  for (const std::string& name : names) {
    html += fmt::format("{}<code>{}</code>", html.empty() ? "" : ", ", html_text(name));
  }
  return html;
}

std::string inline_picture(std::string_view svg, std::string_view prefix,
                           std::string_view description) {
  // The XML declaration has no place inside a page.
  const std::size_t begin = svg.find("<svg");
  const std::size_t end = svg.find('>', begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  std::string head(svg.substr(begin, end - begin));
  // gnuplot's fixed width and height would not let a phone shrink it; the viewBox stays.
  return with_own_ids(
      fmt::format("{} role=\"img\" aria-label=\"{}\"", head, html_text(description)) +
          without_titles(svg.substr(end)),
      fmt::format("{}-", prefix));
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">To the verdicts</a>\n{}\n<script>{}</script>\n</body>\n"
      "</html>\n",
      html_text(title), style, body, script);
}

}  // namespace popgrad
