#include "presenting/report_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/json.hpp"
#include "io/plain_text.hpp"
#include "presenting/catalogue.hpp"
#include "presenting/equations.hpp"
#include "presenting/errata_table.hpp"
#include "presenting/margin_picture.hpp"
#include "presenting/math_text.hpp"
#include "presenting/result_table.hpp"
#include "presenting/verdict_table.hpp"

namespace popgrad {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::array verdicts{Verdict::holds, Verdict::violated, Verdict::inconclusive,
                              Verdict::not_applicable};

std::string verdict_mark(Verdict verdict, bool lacks_data = false) {
  return lacks_data ? "<span class=\"not-applicable\">needs data</span>"
                    : fmt::format("<span class=\"{0}\">{0}</span>", name_of(verdict));
}

std::string code(std::string_view text) { return fmt::format("<code>{}</code>", html_text(text)); }

// To the evidence of a statement.
std::string statement_link(const std::string& id) {
  return fmt::format("<a href=\"#s-{0}\"><code>{0}</code></a>", html_text(id));
}

std::size_t refuted(const Finding& finding) {
  return static_cast<std::size_t>(std::count_if(
      finding.controls.begin(), finding.controls.end(),
      [](const auto& control) { return control.second.verdict() == Verdict::violated; }));
}

// Blank where nothing is allowed and nothing is off.
double finite_share(const Evidence& item) {
  const double share = share_of_allowed(item);
  return std::isinf(share) && share < 0 ? none : share;
}

ResultTable table_of_verdicts() {
  return ResultTable({words("statement"), words("verdict"), words("claim"), words("evidence"),
                      numbers("off/allowed", 0, ".2g"), words("controls"),
                      numbers("seconds", 0, ".2f")});
}

ResultTable table_of_power() {
  return ResultTable({words("statement"), numbers("instances"), numbers("hold"),
                      numbers("violated"), numbers("inconclusive"), numbers("not applicable"),
                      words("power against each control and rival"), numbers("seconds", 0, ".1f")});
}

std::string row_of_verdicts(const Finding& f) {
  const Statement& s = *f.statement;
  const Evidence* tightest = f.examination.tightest();
  ResultTable table = table_of_verdicts();
  table.add(statement_link(s.id), verdict_mark(f.verdict, f.lacks_data), math_html(s.claim),
            html_text(evidence_kinds(f.examination)),
            tightest == nullptr ? none : finite_share(*tightest),
            f.lacks_data ? "" : fmt::format("{}/{}", refuted(f), f.controls.size()),
            f.lacks_data ? none : f.seconds);
  return table.html_rows();
}

std::string hypotheses_of(const Examination& examination) {
  std::string text = "<h4>Hypotheses</h4>\n<ul>\n";
  for (const EvaluatedHypothesis& h : examination.hypotheses) {
    const char* const met = h.basis == Basis::assumed ? "not tested"
                            : h.met == Truth::yes     ? "met"
                            : h.met == Truth::no      ? "not met"
                                                      : "undecided";
    text += fmt::format("<li>{}: {} ({}){}</li>\n", math_html(h.text), met, name_of(h.basis),
                        h.by_how_much.empty() ? "" : "; " + math_html(h.by_how_much));
  }
  return text + "</ul>\n";
}

void add_evidence(const Examination& examination, std::string_view clause, ResultTable& table) {
  for (const Evidence& item : examination.evidence) {
    if (item.clause != clause) continue;
    const bool is_report = item.kind == EvidenceKind::report;
    const bool identity = item.measured == 0 && item.allowed == 0;
    table.add(math_html(item.clause), math_html(item.what), name_of(item.kind),
              is_report ? "" : verdict_mark(item.verdict),
              identity && !is_report ? none : item.measured,
              is_report || identity ? none : item.allowed, finite_share(item),
              math_html(item.reason + (item.reason.empty() || item.detail.empty() ? "" : "; ") +
                        item.detail));
  }
}

// Under each clause what decides it; what decides none comes last.
std::string evidence_table(const Finding& f) {
  ResultTable table({words("clause"), words("what"), words("kind"), words("verdict"),
                     numbers("off", 0, ".4g"), numbers("allowed", 0, ".4g"),
                     numbers("off/allowed", 0, ".2g"), words("explanation")});
  for (const Clause& clause : f.statement->clauses) add_evidence(f.examination, clause.text, table);
  add_evidence(f.examination, {}, table);
  return table.html("Evidence", false);
}

std::string theorem_of(const Statement& s) {
  if (s.theorem.empty()) return {};
  return fmt::format("<p>Judged on {}.</p>\n<pre>{}</pre>\n", math_html(s.about),
                     html_text(s.theorem.substr(s.theorem.find_first_not_of('\n'))));
}

std::string refuted_mark(const Examination& against) {
  const bool refuted = against.verdict() == Verdict::violated;
  return fmt::format("<span class=\"{}\">{}</span>", refuted ? "holds" : "violated",
                     refuted ? "refuted" : name_of(against.verdict()));
}

std::string controls_table(const Finding& f) {
  ResultTable table({words("control"), words("what is wrong"), words("verdict")});
  for (const auto& [control, against] : f.controls) {
    table.add(html_text(control.name), math_html(control.what_is_wrong), refuted_mark(against));
  }
  return table.html("Negative controls: each has to be refuted", false);
}

std::string rivals_table(const Finding& f) {
  if (f.rivals.empty()) return fmt::format("<p>{}.</p>\n", math_html(no_rival_text(*f.statement)));
  ResultTable table({words("rival"), words("what it says"), words("fitted"), words("verdict")});
  for (const auto& [rival, against] : f.rivals) {
    table.add(html_text(rival.name), math_html(rival.what), math_html(rival.fits),
              refuted_mark(against));
  }
  return table.html("Rival explanations: what is not refuted leaves the claim undecided", false);
}

// Links lead to those that are on the page.
std::string figures_of(const Statement& s, const std::vector<FigureInfo>& figures) {
  std::string text;
  for (const FigureInfo& figure : figures) {
    if (std::find(figure.shows.begin(), figure.shows.end(), s.id) == figure.shows.end()) continue;
    text += fmt::format("{}<a href=\"#f-{}\">{}</a>", text.empty() ? "" : ", ",
                        html_text(figure.name), code(figure.name));
  }
  return text.empty() ? text : fmt::format("<p>Shown by the figures {}.</p>\n", text);
}

std::string evidence_of(const Finding& f, const std::vector<FigureInfo>& figures) {
  const Statement& s = *f.statement;
  std::string text =
      fmt::format("<details id=\"s-{}\">\n<summary>{} {} &mdash; {}</summary>\n<p>{}; {}.",
                  html_text(s.id), code(s.id), verdict_mark(f.verdict, f.lacks_data),
                  math_html(s.claim), math_html(s.paper), math_html(s.status));
  if (!f.failure.empty()) text += fmt::format(" <strong>{}</strong>", html_text(f.failure));
  text += "</p>\n";
  text += theorem_of(s);
  text += margin_picture(f);
  text += figures_of(s, figures);
  if (!s.hypotheses.empty()) text += hypotheses_of(f.examination);
  if (!f.examination.evidence.empty()) text += evidence_table(f);
  if (!f.controls.empty()) text += controls_table(f) + rivals_table(f);
  if (!f.examination.parameters.empty()) {
    text += fmt::format("<p class=\"note\">At {}</p>\n", code(json_text(f.examination.parameters)));
  }
  return text + "</details>\n";
}

std::string picture(const ReportPicture& p) {
  return fmt::format("<figure id=\"f-{}\">\n{}\n<figcaption>{}. {}</figcaption>\n</figure>\n",
                     html_text(p.name), inline_picture(p.svg, p.name, plain_text(p.title)),
                     math_html(p.title), code(p.command));
}

std::string regimes_of(const ReportLadder& ladder) {
  ResultTable table({words("step"), words("regime"), words("observable"), words("rung"),
                     numbers("t", 0, ".6g"), numbers("uncertainty", 0, ".2g"), numbers("runs")});
  bool any = false;
  for (const auto& [step, rung] : ladder.regimes) {
    for (const RegimeTime& time : rung.times) {
      any = true;
      table.add(html_text(step),
                html_text(time.ordinal == 0 ? time.name
                                            : fmt::format("{} {}", time.name, time.ordinal + 1)),
                code(time.column), html_text(rung.rung), time.t, time.uncertainty, time.runs);
    }
  }
  return any ? table.html(ladder.model, true) : std::string{};
}

std::string erratum_element(const ExaminedErratum& examined) {
  const Erratum& e = *examined.erratum;
  const ErratumFinding& found = examined.found;
  std::string text = fmt::format("<details><summary>{} ({}) &mdash; {}</summary>\n<dl>",
                                 code(e.name), name_of(e.kind), math_html(e.algebra_says));
  const auto item = [&text](const char* slot, const std::string& what) {
    text += fmt::format("<dt>{}</dt><dd>{}</dd>", slot, what);
  };
  item("Place", math_html(e.place));
  item("Source", math_html(sources_of(e) + "; " + e.known));
  item("Claim", math_html(e.claim));
  item("The paper", math_html(e.paper_says));
  item("Found", math_html(e.algebra_says));
  item("Effect", math_html(e.effect));
  item("See", statement_link(e.statement));
  text += "</dl>\n" + hypotheses_of(found.examination) + "<h4>Evidence</h4>\n<ul>\n";
  for (const Evidence& piece : found.examination.evidence) {
    text += fmt::format("<li>{}</li>\n", math_html(evidence_text(piece)));
  }
  for (const Evidence& piece : found.of_paper()) {
    text += fmt::format("<li>{}</li>\n", math_html(evidence_text(piece, true)));
  }
  return text + "</ul></details>\n";
}

}  // namespace

Judged judged(const Finding& finding) {
  return {finding.statement->id, finding.verdict,
          finding.verdict == Verdict::holds && finding.sound(), finding.lacks_data};
}

std::string verdicts_html(std::string_view rows) {
  return table_of_verdicts().html(
      fmt::format("One row a statement; a click on a header sorts. Off/allowed: {}.",
                  meaning_of_worst),
      true, rows);
}

std::string power_html(std::string_view rows) {
  return table_of_power().html("Drawn instances", true, rows);
}

ReportPart statement_part(const Finding& finding, const std::vector<FigureInfo>& figures) {
  ReportPart part;
  part.judged = judged(finding);
  part.html["verdicts"] = row_of_verdicts(finding);
  part.html["evidence"] = evidence_of(finding, figures);
  return part;
}

ReportPart survey_part(const Statement& statement, const Survey& found) {
  std::string powers;
  const auto add_powers = [&](const auto& all) {
    for (const auto& each : all) {
      powers +=
          fmt::format("{}{} {:.2f}", powers.empty() ? "" : ", ", each.name, found.power(each.name));
    }
  };
  add_powers(statement.controls);
  add_powers(statement.rivals);
  ResultTable table = table_of_power();
  table.add(statement_link(statement.id), found.instances, found.holds, found.violated,
            found.inconclusive, found.not_applicable, html_text(powers), found.seconds);
  ReportPart part;
  part.html["power"] = table.html_rows();
  return part;
}

ReportPart equations_part(const Model& model, const std::string& program) {
  ReportPart part;
  part.html["equations"] = equations_html(model, program);
  return part;
}

ReportPart ladder_part(const ReportLadder& ladder) {
  ReportPart part;
  part.html["ladders"] = fmt::format(
      "<h3>{0}</h3>\n<p class=\"note\">{1}</p>\n<div class=\"wide\">{2}</div><details><summary>"
      "Numbers of {0}</summary>\n<pre>{3}</pre></details>\n",
      html_text(ladder.model), html_text(ladder.paper), picture(ladder.picture),
      html_text(ladder.table));
  if (std::string regimes = regimes_of(ladder); !regimes.empty()) {
    part.html["regimes"] = std::move(regimes);
  }
  return part;
}

ReportPart figure_part(const ReportPicture& figure) {
  ReportPart part;
  part.html["figures"] = picture(figure);
  return part;
}

ReportPart errata_part(const std::vector<Erratum>& errata) {
  ReportPart part;
  for (const ExaminedErratum& erratum : examined_errata(errata)) {
    part.html["errata"] += erratum_element(erratum);
  }
  return part;
}

std::string kept_text(const ReportPart& part) {
  Json kept = Json::object();
  for (const auto& [section, html] : part.html) kept["html"][section] = html;
  if (part.judged) {
    kept["judged"] = {{"id", part.judged->id},
                      {"verdict", name_of(part.judged->verdict)},
                      {"sound", part.judged->sound},
                      {"lacks_data", part.judged->lacks_data}};
  }
  return kept.dump();
}

std::optional<ReportPart> part_of_text(std::string_view text) {
  ReportPart part;
  try {
    const Json kept = Json::parse(text);
    if (!kept.is_object()) return std::nullopt;
    if (kept.contains("html")) {
      for (const auto& [section, html] : kept.at("html").items()) {
        part.html[section] = html.get<std::string>();
      }
    }
    if (kept.contains("judged")) {
      const Json& found = kept.at("judged");
      const auto name = found.at("verdict").get<std::string>();
      const auto verdict = std::find_if(verdicts.begin(), verdicts.end(),
                                        [&](Verdict v) { return name_of(v) == name; });
      if (verdict == verdicts.end()) return std::nullopt;
      part.judged = Judged{found.at("id").get<std::string>(), *verdict,
                           found.at("sound").get<bool>(), found.at("lacks_data").get<bool>()};
    }
  } catch (const Json::exception&) {
    return std::nullopt;
  }
  return part;
}

}  // namespace popgrad
