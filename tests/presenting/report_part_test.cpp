/// The parts of the report and the page that they make.

#include "presenting/report_part.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "popgrad/evidence/theories.hpp"
#include "popgrad/evidence/theory.hpp"
#include "presenting/html_report.hpp"
#include "presenting/margin_picture.hpp"
#include "presenting/math_text.hpp"
#include "presenting/observables.hpp"

namespace report_part_test {

using namespace popgrad;

namespace {

Statement small_statement() {
  Statement s;
  s.id = "model.claim";
  s.claim = "`alpha_V < 1`";
  s.paper = "a paper";
  s.status = "derived here";
  return s;
}

Finding finding_of(const Statement& statement) {
  Finding finding;
  finding.statement = &statement;
  finding.verdict = Verdict::holds;
  finding.examination.evidence = {
      bounded(EvidenceKind::numerical, "x_0 against 1", 0.5, 1, "solver"),
      identity(EvidenceKind::symbolic, "an identity", Truth::yes), reported("a number", 3)};
  Examination refuted;
  refuted.evidence = {bounded(EvidenceKind::numerical, "x_0 against 2", 100, 1, "solver")};
  finding.controls = {{{"doubled", "2 in place of 1"}, refuted}};
  return finding;
}

// Without marks, code and formulas: the running text.
std::string running_text(std::string html) {
  for (const char* name : {"math", "code"}) {
    const std::string open = "<" + std::string(name) + ">";
    const std::string close = "</" + std::string(name) + ">";
    for (std::size_t at = html.find(open); at != std::string::npos; at = html.find(open)) {
      html.erase(at, html.find(close, at) + close.size() - at);
    }
  }
  return html;
}

}  // namespace

TEST_CASE("report part: kept and taken back", "[report]") {
  const Statement statement = small_statement();
  FigureInfo shows;
  shows.name = "model-figure";
  shows.shows = {"model.claim"};
  FigureInfo other;
  other.name = "model-other";
  const ReportPart part = statement_part(finding_of(statement), {shows, other});
  CHECK_THAT(part.html.at("evidence"),
             Catch::Contains("href=\"#f-model-figure\"") && !Catch::Contains("model-other"));
  const auto back = part_of_text(kept_text(part));
  REQUIRE(back);
  CHECK(back->html == part.html);
  REQUIRE(back->judged);
  CHECK(back->judged->verdict == Verdict::holds);
  CHECK(back->judged->sound);
  CHECK_FALSE(back->judged->lacks_data);
  for (const char* damaged :
       {"", "{", "[]", "{\"html\":3}", "{\"judged\":{\"verdict\":\"good\"}}"}) {
    CHECK_FALSE(part_of_text(damaged));
  }
}

TEST_CASE("report page: what is missing is said, dead links are text", "[report]") {
  const Statement statement = small_statement();
  FigureInfo shows;
  shows.name = "model-figure";
  shows.shows = {"model.claim"};
  ReportContent content;
  content.planned = 2;
  content.parts = {statement_part(finding_of(statement), {shows})};
  const std::string unfinished = html_report(content);
  CHECK_THAT(unfinished, Catch::Contains("Not complete: 1 of 2 parts are here"));
  CHECK_THAT(unfinished, Catch::Contains("figures <code>model-figure</code>."));
  CHECK_THAT(unfinished, Catch::Contains("1 statements: 1 hold, 0 violated"));
  content.parts.push_back(figure_part({"model-figure", "W_V over time", "<svg></svg>", "command"}));
  content.kept["figures"] = 1;
  const std::string whole = html_report(content);
  CHECK_THAT(whole, !Catch::Contains("Not complete"));
  CHECK_THAT(whole, Catch::Contains("<a href=\"#f-model-figure\"><code>model-figure</code></a>"));
  CHECK_THAT(whole, Catch::Contains("<dt>From earlier runs</dt><dd>1 figures: "));
}

TEST_CASE("margin picture: evidence within, controls beyond what is allowed", "[report]") {
  const Statement statement = small_statement();
  Finding finding = finding_of(statement);
  const std::string picture = margin_picture(finding);
  CHECK_THAT(picture, Catch::Contains("<title>off by 0.5 of the allowed</title>") &&
                          Catch::Contains("<title>off by 0 of the allowed</title>") &&
                          Catch::Contains("<title>off by 1e+02 times the allowed</title>"));
  CHECK_THAT(picture, Catch::Contains("control <code>doubled</code>") &&
                          !Catch::Contains("not-wanted") && !Catch::Contains("a number"));
  // A control that passes, evidence that fails.
  finding.controls.front().second.evidence = {finding.examination.evidence.front()};
  CHECK_THAT(margin_picture(finding), Catch::Contains("class=\"not-wanted control\""));
  finding.examination.evidence = {
      bounded(EvidenceKind::numerical, "x_0 against 1", 2, 1, "solver")};
  CHECK_THAT(margin_picture(finding), Catch::Contains("class=\"not-wanted\" cx"));
  finding.examination.evidence.clear();
  CHECK(margin_picture(finding).empty());
}

TEST_CASE("report: formulas of statements, errata, figures and observables are marked",
          "[report]") {
  const auto check = [](const std::string& text) {
    INFO(text);
    const std::string left = running_text(math_html(text));
    CHECK(left.find_first_of("_^*=`") == std::string::npos);
    CHECK(left.find("&lt;") == std::string::npos);
    CHECK(left.find("&gt;") == std::string::npos);
  };
  for (const Theory& theory : theories()) {
    for (const Statement& s : theory.statements) {
      check(s.claim);
      check(s.about);
      check(s.paper);
      check(s.no_rival);
      for (const Hypothesis& h : s.hypotheses) {
        check(std::string(h.text));
        check(std::string(h.why));
      }
      for (const Control& control : s.controls) check(std::string(control.what_is_wrong));
      for (const Rival& rival : s.rivals) {
        check(std::string(rival.what));
        check(std::string(rival.fits));
      }
    }
    for (const Erratum& e : theory.errata) {
      for (const std::string& text :
           {e.place, e.known, e.claim, e.paper_says, e.algebra_says, e.effect}) {
        check(text);
      }
    }
    for (const FigureMaker& maker : theory.figures) check(maker.info.title);
    check(theory.model->notation());
    for (const SharedObservable& one : observables_of(*theory.model)) {
      for (const std::string& text : {one.info.formula, one.info.range, one.info.meaning})
        check(text);
    }
  }
}

TEST_CASE("observables: notation in paragraphs, formulas in blocks", "[report]") {
  const std::string html = paragraphs_html(
      "\nAt all times, of a `b_c`, `also-late`:\n\n    `R = z^2`     linear\n\nOf max `|z_l|`.\n");
  CHECK_THAT(
      html, Catch::Contains("<p>At all times, of a <math><msub><mi>b</mi><mi>c</mi></msub></math>, "
                            "<code>also-late</code>:</p>"));
  CHECK_THAT(html,
             Catch::Contains("<table class=\"formulas\">") && Catch::Contains("<td>linear</td>"));
  CHECK_THAT(html, Catch::Contains("<mo>|</mo><msub><mi>z</mi><mi>l</mi></msub><mo>|</mo>"));
}

TEST_CASE("observables: one row for rungs that share a formula", "[report]") {
  const auto rung = [](const char* name, std::vector<ObservableInfo> observables) {
    Rung made;
    made.info.name = name;
    made.observables = std::move(observables);
    return made;
  };
  const Model model({.name = "two",
                     .paper = "none",
                     .rungs = {rung("a", {{"loss", "x^2", ">= 0"}, {"size", "|x|", ">= 0"}}),
                               rung("b", {{"loss", "y^2", ">= 0"}, {"size", "|x|", ">= 0"}})}});
  std::vector<std::string> shown;
  for (const SharedObservable& one : observables_of(model)) {
    shown.push_back(
        fmt::format("{} {} {}", one.info.name, one.info.formula, fmt::join(one.rungs, ",")));
  }
  CHECK(shown == std::vector<std::string>{"loss x^2 a", "loss y^2 b", "size |x| "});
  CHECK_THAT(observables_html(model), Catch::Contains("<code>b</code>") && Catch::Contains("all"));
}

}  // namespace report_part_test
