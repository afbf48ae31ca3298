#include "report/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "report/errata_table.hpp"
#include "report/html_page.hpp"

namespace popgrad {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

std::string verdict_mark(Verdict verdict, bool lacks_data = false) {
  return lacks_data ? "<span class=\"not-applicable\">needs data</span>"
                    : fmt::format("<span class=\"{0}\">{0}</span>", name_of(verdict));
}

std::string anchor(const Statement& s) { return "s-" + s.id; }

std::size_t refuted(const Finding& finding) {
  return static_cast<std::size_t>(std::count_if(
      finding.controls.begin(), finding.controls.end(),
      [](const auto& control) { return control.second.verdict() == Verdict::violated; }));
}

std::string verdicts(const Verification& v) {
  HtmlTable table(
      "One row a statement; a click on a header sorts. Margin: (allowed - measured) / "
      "allowed of the evidence nearest to failing; 1 for identities.",
      {"statement", "verdict", "claim", "evidence", "margin", "controls", "seconds"});
  for (const Finding& f : v.findings) {
    const Statement& s = *f.statement;
    std::set<EvidenceKind> kinds;
    for (const Evidence& item : f.examination.evidence) {
      if (item.kind != EvidenceKind::report) kinds.insert(item.kind);
    }
    std::string names;
    for (const EvidenceKind kind : kinds) names += (names.empty() ? "" : ", ") + name_of(kind);
    const Evidence* nearest = f.examination.nearest_to_failing();
    table.cell(fmt::format("<a href=\"#{}\"><code>{}</code></a>", anchor(s), html_text(s.id)))
        .cell(verdict_mark(f.verdict, f.lacks_data))
        .cell(html_text(s.claim))
        .cell(html_text(names))
        .number(nearest == nullptr ? none : relative_margin(*nearest), "{:.3g}")
        .cell(f.lacks_data ? std::string{} : fmt::format("{}/{}", refuted(f), f.controls.size()))
        .number(f.lacks_data ? none : f.seconds, "{:.2f}")
        .end_row();
  }
  return table.html(true);
}

std::string hypotheses_of(const Examination& examination) {
  std::string text = "<h4>Hypotheses</h4>\n<ul>\n";
  for (const Hypothesis& h : examination.hypotheses) {
    const char* const met = h.basis == Basis::assumed ? "not tested"
                            : h.met == Truth::yes     ? "met"
                            : h.met == Truth::no      ? "not met"
                                                      : "undecided";
    text += fmt::format("<li>{}: {} ({}){}</li>\n", html_text(h.text), met, name_of(h.basis),
                        h.by_how_much.empty() ? "" : "; " + html_text(h.by_how_much));
  }
  return text + "</ul>\n";
}

std::string details(const Finding& f) {
  const Statement& s = *f.statement;
  std::string text = fmt::format(
      "<details id=\"{}\">\n<summary><code>{}</code> {} &mdash; {}</summary>\n<p>{}; {}.",
      anchor(s), html_text(s.id), verdict_mark(f.verdict, f.lacks_data), html_text(s.claim),
      html_text(s.paper), html_text(s.status));
  if (!f.failure.empty()) text += fmt::format(" <strong>{}</strong>", html_text(f.failure));
  text += "</p>\n";
  if (!s.hypotheses.empty()) text += hypotheses_of(f.examination);
  if (!f.examination.evidence.empty()) {
    HtmlTable table("Evidence",
                    {"what", "kind", "verdict", "measured", "allowed", "why, and detail"});
    for (const Evidence& item : f.examination.evidence) {
      const bool told = item.kind == EvidenceKind::report;
      const bool identity = item.measured == 0 && item.allowed == 0;
      table.cell(html_text(item.what))
          .cell(name_of(item.kind))
          .cell(told ? std::string{} : verdict_mark(item.verdict))
          .number(identity && !told ? none : item.measured, "{:.4g}")
          .number(told || identity ? none : item.allowed, "{:.4g}")
          .cell(html_text(item.reason + (item.reason.empty() || item.detail.empty() ? "" : "; ") +
                          item.detail))
          .end_row();
    }
    text += table.html(false);
  }
  if (!f.controls.empty()) {
    HtmlTable table("Negative controls: each has to be refuted",
                    {"control", "what is wrong", "verdict"});
    for (const auto& [control, examination] : f.controls) {
      table.cell(html_text(control.name))
          .cell(html_text(control.what_is_wrong))
          .cell(fmt::format("<span class=\"{}\">{}</span>",
                            examination.verdict() == Verdict::violated ? "holds" : "violated",
                            examination.verdict() == Verdict::violated
                                ? "refuted"
                                : name_of(examination.verdict())))
          .end_row();
    }
    text += table.html(false);
  }
  if (!f.examination.parameters.empty()) {
    text += fmt::format("<p class=\"note\">At <code>{}</code></p>\n",
                        html_text(json_text(f.examination.parameters)));
  }
  return text + "</details>\n";
}

std::string power_section(const Verification& v) {
  std::string text =
      "<h2 id=\"power\">Power of the checks</h2>\n<p>Each statement on instances that its knobs "
      "and "
      "seeds draw: on how many it holds, and the share of the applicable ones on which each of its "
      "deliberate mistakes is refuted.</p>\n";
  HtmlTable table("Drawn instances", {"statement", "instances", "hold", "violated", "inconclusive",
                                      "not applicable", "power of each control", "seconds"});
  for (std::size_t i = 0; i < v.surveys.size(); ++i) {
    if (v.findings[i].lacks_data) continue;
    const Statement& s = *v.findings[i].statement;
    const Survey& found = v.surveys[i];
    std::string powers;
    for (const Control& control : s.controls) {
      powers += fmt::format("{}{} {:.2f}", powers.empty() ? "" : ", ", control.name,
                            found.power(control.name));
    }
    table.cell(fmt::format("<a href=\"#{}\"><code>{}</code></a>", anchor(s), html_text(s.id)))
        .number(static_cast<double>(found.instances), "{:.0f}")
        .number(static_cast<double>(found.holds), "{:.0f}")
        .number(static_cast<double>(found.violated), "{:.0f}")
        .number(static_cast<double>(found.inconclusive), "{:.0f}")
        .number(static_cast<double>(found.not_applicable), "{:.0f}")
        .cell(html_text(powers))
        .number(found.seconds, "{:.1f}")
        .end_row();
  }
  return text + table.html(true);
}

std::string picture(const ReportPicture& p) {
  return fmt::format("<figure>\n{}\n<figcaption>{}. <code>{}</code></figcaption>\n</figure>\n",
                     inline_picture(p.svg, p.name, p.title), html_text(p.title),
                     html_text(p.command));
}

std::string ladders(const std::vector<ReportLadder>& all) {
  std::string text =
      "<h2 id=\"ladders\">What each assumption costs</h2>\n<p>Distances of neighbouring rungs, "
      "from "
      "training to the closed form. A random rung stands for the mean of its runs.</p>\n";
  for (const ReportLadder& ladder : all) {
    text += fmt::format(
        "<h3>{}</h3>\n<p class=\"note\">{}</p>\n<div "
        "class=\"wide\">{}</div><details><summary>Numbers of "
        "{}</summary>\n<pre>{}</pre></details>\n",
        html_text(ladder.model), html_text(ladder.paper), picture(ladder.picture),
        html_text(ladder.model), html_text(ladder.table));
  }
  return text;
}

std::string regimes_section(const std::vector<ReportRegimes>& all) {
  std::string text =
      "<h2 id=\"regimes\">When regimes set in</h2>\n<p>Found in the rows of each step's "
      "instance, with the definitions that <code>popgrad list</code> gives. The uncertainty is "
      "that of the "
      "time; of several runs, their spread.</p>\n";
  for (const ReportRegimes& model : all) {
    HtmlTable table(model.model,
                    {"step", "regime", "observable", "rung", "t", "uncertainty", "runs"});
    for (const auto& [step, rung] : model.steps) {
      for (const RegimeTime& time : rung.times) {
        table.cell(html_text(step))
            .cell(html_text(time.ordinal == 0 ? time.name
                                              : fmt::format("{} {}", time.name, time.ordinal + 1)))
            .cell(fmt::format("<code>{}</code>", html_text(time.column)))
            .cell(html_text(rung.rung))
            .number(time.t, "{:.6g}")
            .number(time.uncertainty, "{:.2g}")
            .number(static_cast<double>(time.runs), "{:.0f}")
            .end_row();
      }
    }
    text += table.html(true);
  }
  return text;
}

std::string errata_section(const std::vector<Erratum>& errata) {
  std::string text =
      "<h2 id=\"errata\">Errata</h2>\n<p>Where a paper and the algebra disagree, with what was "
      "computed "
      "to show it. An error is false as printed; what does not transfer is true in its setting and "
      "false in one where it is commonly used; a figure whose inputs are not given could not be "
      "reproduced. Each says how the paper's text is known, and which hypotheses of the claim the "
      "instance of the evidence meets.</p>\n";
  for (const auto& [e, found] : examined_errata(errata)) {
    text += fmt::format("<details><summary><code>{}</code> ({}) &mdash; {}</summary>\n<dl>",
                        html_text(e->name), name_of(e->kind), html_text(e->algebra_says));
    const auto item = [&text](const char* slot, const std::string& what) {
      text += fmt::format("<dt>{}</dt><dd>{}</dd>", slot, what);
    };
    item("Place", html_text(e->place));
    item("Source", html_text(sources_of(*e) + "; " + e->known));
    item("Claim", html_text(e->claim));
    item("The paper", html_text(e->paper_says));
    item("Found", html_text(e->algebra_says));
    item("Effect", html_text(e->effect));
    item("See", fmt::format("<a href=\"#s-{0}\"><code>{0}</code></a>", html_text(e->statement)));
    text += "</dl>\n" + hypotheses_of(found) + "<h4>Evidence</h4>\n<ul>\n";
    for (const Evidence& piece : found.evidence) {
      const bool judged = piece.kind != EvidenceKind::report;
      text += fmt::format("<li>{}: {}{}</li>\n", html_text(piece.what),
                          judged ? (piece.verdict == Verdict::holds ? "shown" : "NOT shown")
                                 : fmt::format("{:.4g}", piece.measured),
                          piece.detail.empty() ? "" : "; " + html_text(piece.detail));
    }
    text += "</ul></details>\n";
  }
  return text;
}

std::string sums(const Verification& v) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(v.findings.begin(), v.findings.end(),
                         [&](const Finding& f) { return f.verdict == verdict && !f.lacks_data; });
  };
  const auto lacking = std::count_if(v.findings.begin(), v.findings.end(),
                                     [](const Finding& f) { return f.lacks_data; });
  return fmt::format("{} statements: {} hold, {} violated, {} inconclusive, {} not applicable{}.",
                     v.findings.size(), count(Verdict::holds), count(Verdict::violated),
                     count(Verdict::inconclusive), count(Verdict::not_applicable),
                     lacking > 0 ? fmt::format(", {} need recorded data", lacking) : "");
}

}  // namespace

std::string html_report(const ReportContent& report) {
  const Verification& v = report.verification;
  std::string body =
      "<header><h1>popgrad: theorems on how transformers train, checked</h1>\n<nav "
      "aria-label=\"Sections\"><ul><li><a href=\"#main\">Verdicts</a></li><li><a "
      "href=\"#evidence\">Evidence</a></li>";
  const bool surveyed = !report.survey.surveys.empty();
  if (surveyed) body += "<li><a href=\"#power\">Power</a></li>";
  if (!report.ladders.empty()) body += "<li><a href=\"#ladders\">Ladders</a></li>";
  if (!report.regimes.empty()) body += "<li><a href=\"#regimes\">Regimes</a></li>";
  if (!report.figures.empty()) body += "<li><a href=\"#figures\">Figures</a></li>";
  if (!report.errata.empty()) body += "<li><a href=\"#errata\">Errata</a></li>";
  body += "<li><a href=\"#made\">How this was made</a></li></ul></nav></header>\n<main>\n";
  body += fmt::format("<h2 id=\"main\" tabindex=\"-1\">Verdicts</h2>\n<p>{}</p>\n{}", sums(v),
                      verdicts(v));
  body += "<h2 id=\"evidence\">Evidence</h2>\n";
  for (const Finding& finding : v.findings) body += details(finding);
  if (surveyed) body += power_section(report.survey);
  if (!report.ladders.empty()) body += ladders(report.ladders);
  if (!report.regimes.empty()) body += regimes_section(report.regimes);
  if (!report.figures.empty()) {
    body += "<h2 id=\"figures\">Figures</h2>\n<div class=\"figures\">\n";
    for (const ReportPicture& p : report.figures) body += picture(p);
    body += "</div>\n";
  }
  if (!report.errata.empty()) body += errata_section(report.errata);
  body += fmt::format(
      "<h2 id=\"made\">How this was made</h2>\n<dl><dt>Command</dt><dd><code>{}</code></dd>"
      "<dt>Seed</dt><dd>{}</dd><dt>False alarms</dt><dd>at most {:.0e} in all statements</dd>",
      html_text(report.command), v.seed, v.false_alarm);
  for (const auto& [name, version] : report.versions) {
    body += fmt::format("<dt>{}</dt><dd>{}</dd>", html_text(name), html_text(version));
  }
  return html_page("popgrad report", body + "</dl>\n</main>");
}

}  // namespace popgrad
