#include "presenting/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "presenting/html_page.hpp"

namespace popgrad {
namespace {

struct Section {
  std::string_view name, heading, introduction;
};

constexpr std::array<Section, 8> sections{{
    {"verdicts", "Verdicts", ""},
    {"evidence", "Evidence", ""},
    {"power", "Power of the checks",
     "Each statement on instances that its knobs and seeds draw: on how many it holds, and the "
     "share of the applicable ones on which each of its deliberate mistakes and rivals is "
     "refuted."},
    {"equations", "Equations",
     "What is integrated, from the rungs' own code on symbols, at sizes small enough to read. "
     "Where "
     "a random rung is named, it is the mean of its steps."},
    {"ladders", "What each assumption costs",
     "Distances of neighbouring rungs, from training to the closed form. A random rung stands for "
     "the mean of its runs."},
    {"regimes", "When regimes set in",
     "Found in the rows of each step's instance, with the definitions that <code>popgrad "
     "list</code> gives. The uncertainty is that of the time; of several runs, their spread."},
    {"figures", "Figures", ""},
    {"errata", "Errata",
     "Where a paper and the algebra disagree, with what was computed to show it. An error is false "
     "as printed; what does not transfer is true in its setting and false in one where it is "
     "commonly used; a figure whose inputs are not given could not be reproduced. Each says how "
     "the "
     "paper's text is known, and which hypotheses of the claim the instance of the evidence "
     "meets."},
}};

// What the parts say of a section, in their order.
std::string html_of(const std::vector<ReportPart>& parts, std::string_view section) {
  std::string all;
  for (const ReportPart& part : parts) {
    if (const auto found = part.html.find(section); found != part.html.end()) all += found->second;
  }
  return all;
}

std::string sums(const std::vector<ReportPart>& parts) {
  const auto count = [&](const auto& asked) {
    return std::count_if(parts.begin(), parts.end(), [&](const ReportPart& part) {
      return part.judged && asked(*part.judged);
    });
  };
  const auto of = [&](Verdict verdict) {
    return count([&](const Judged& j) { return j.verdict == verdict && !j.lacks_data; });
  };
  const auto lacking = count([](const Judged& j) { return j.lacks_data; });
  return fmt::format("{} statements: {} hold, {} violated, {} inconclusive, {} not applicable{}.",
                     count([](const Judged&) { return true; }), of(Verdict::holds),
                     of(Verdict::violated), of(Verdict::inconclusive), of(Verdict::not_applicable),
                     lacking > 0 ? fmt::format(", {} need recorded data", lacking) : "");
}

std::string inside_of(const Section& section, std::string html,
                      const std::vector<ReportPart>& parts) {
  if (section.name == "power") html = power_html(html);
  if (section.name == "verdicts") {
    html = fmt::format("<p>{}</p>\n{}", sums(parts), verdicts_html(html));
  }
  if (section.name == "figures") html = "<div class=\"figures\">\n" + html + "</div>\n";
  if (!section.introduction.empty()) {
    html = fmt::format("<p>{}</p>\n{}", section.introduction, html);
  }
  return html;
}

std::string made_of(const ReportContent& report) {
  std::string text = fmt::format(
      "<h2 id=\"made\">How this was made</h2>\n<dl><dt>Command</dt><dd><code>{}</code></dd>"
      "<dt>Seed</dt><dd>{}</dd><dt>False alarms</dt><dd>at most {:.0e} in all statements</dd>",
      html_text(report.command), report.seed, report.false_alarm);
  std::string kept;
  for (const auto& [kind, count] : report.kept) {
    kept += fmt::format("{}{} {}", kept.empty() ? "" : ", ", count, kind);
  }
  text +=
      fmt::format("<dt>From earlier runs</dt><dd>{}</dd>",
                  kept.empty() ? "nothing"
                               : kept +
                                     ": the same program made them with the same parameters, and "
                                     "seconds are those that they took then "
                                     "(<code>--no-cache</code> makes them anew)");
  for (const auto& [name, version] : report.versions) {
    text += fmt::format("<dt>{}</dt><dd>{}</dd>", html_text(name), html_text(version));
  }
  return text + "</dl>\n";
}

// Links to what is not on this page lose their ends: a figure that was not asked for, a statement of
// another choice.
std::string without_dead_links(std::string_view html) {
  std::set<std::string_view> ids;
  constexpr std::string_view id = " id=\"";
  for (std::size_t at = html.find(id); at != std::string_view::npos; at = html.find(id, at)) {
    at += id.size();
    ids.insert(html.substr(at, html.find('"', at) - at));
  }
  constexpr std::string_view open = "<a href=\"#";
  constexpr std::string_view close = "</a>";
  std::string text;
  text.reserve(html.size());
  while (true) {
    const std::size_t begin = html.find(open);
    text += html.substr(0, begin);
    if (begin == std::string_view::npos) return text;
    html.remove_prefix(begin);
    const std::string_view target =
        html.substr(open.size(), html.find('"', open.size()) - open.size());
    const std::size_t end = html.find(close);
    if (end == std::string_view::npos) return text + std::string(html);
    const std::string_view link = html.substr(0, end + close.size());
    const std::size_t inside = link.find('>') + 1;
    text += ids.contains(target) ? link : link.substr(inside, end - inside);
    html.remove_prefix(link.size());
  }
}

}  // namespace

std::string html_report(const ReportContent& report) {
  std::string navigation;
  std::string body;
  for (const Section& section : sections) {
    std::string html = html_of(report.parts, section.name);
    if (html.empty() && section.name != "verdicts") continue;
    // Where the link over the navigation leads.
    const bool first = section.name == "verdicts";
    const std::string_view anchor = first ? "main" : section.name;
    navigation += fmt::format("<li><a href=\"#{}\">{}</a></li>", anchor, section.heading);
    body += fmt::format("<h2 id=\"{}\"{}>{}</h2>\n{}", anchor, first ? " tabindex=\"-1\"" : "",
                        section.heading, inside_of(section, std::move(html), report.parts));
  }
  std::string head = fmt::format(
      "<header><h1>popgrad: theorems on how transformers train, checked</h1>\n<nav "
      "aria-label=\"Sections\"><ul>{}<li><a href=\"#made\">How this was made</a></li></ul></nav>"
      "</header>\n<main>\n",
      navigation);
  if (report.parts.size() < report.planned) {
    head += fmt::format(
        "<p class=\"unfinished\" role=\"status\">Not complete: {} of {} parts are here. Either the "
        "others are still being made, or the command was stopped; the same command goes on where "
        "it "
        "stopped.</p>\n",
        report.parts.size(), report.planned);
  }
  return html_page("popgrad report", without_dead_links(head + body + made_of(report) + "</main>"));
}

}  // namespace popgrad
