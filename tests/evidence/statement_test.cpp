#include "popgrad/evidence/statement.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "evidence/confirming.hpp"
#include "places.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/error_ratios.hpp"
#include "popgrad/evidence/falsify.hpp"
#include "popgrad/evidence/survey.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/scalars/refinement.hpp"
#include "register_case.hpp"
#include "sanitized.hpp"

namespace statement_test {

using namespace popgrad;

TEST_CASE("bounded evidence holds, fails, and knows when it cannot tell", "[statement]") {
  CHECK(bounded(EvidenceKind::numerical, "", 1, 2, "").verdict == Verdict::holds);
  CHECK(bounded(EvidenceKind::numerical, "", 3, 2, "").verdict == Verdict::violated);
  CHECK(bounded(EvidenceKind::numerical, "", std::nan(""), 2, "").verdict == Verdict::inconclusive);
}

TEST_CASE("an examination is as good as its worst evidence", "[statement]") {
  Examination e;
  CHECK(e.verdict() == Verdict::inconclusive);  // nothing shown is not shown
  e.evidence.push_back(reported("told", 1));
  CHECK(e.verdict() == Verdict::inconclusive);  // a report judges nothing
  e.evidence.push_back(identity(EvidenceKind::symbolic, "", Truth::yes));
  CHECK(e.verdict() == Verdict::holds);
  e.hypotheses.push_back({"h", Truth::undecided, ""});
  CHECK(e.verdict() == Verdict::inconclusive);  // undecided is never taken for yes
  e.hypotheses.back().met = Truth::yes;
  e.evidence.push_back(identity(EvidenceKind::exact, "", Truth::no));
  CHECK(e.verdict() == Verdict::violated);
  e.hypotheses.back().met = Truth::no;
  CHECK(e.verdict() == Verdict::not_applicable);
}

TEST_CASE("a check whose control is not refuted is not sound", "[statement]") {
  Statement s;
  s.id = "test";
  const Control wrong = s.control("wrong", "nothing is wrong");
  bool refutes = true;
  s.examine = [&](const Setting&, Examination& found) {
    found.judge(equal("a number", 2, 2).unless(wrong, refutes ? 3 : 2));
  };
  CHECK(check(s, Setting{}).sound());
  refutes = false;
  CHECK_FALSE(check(s, Setting{}).sound());
}

TEST_CASE("a claim is undecided where a rival explanation passes as well", "[statement]") {
  Statement s;
  s.id = "test";
  const Control larger = s.control("larger", "a tenth more");
  const Rival line = s.rival("line", "it grows in proportion");
  const Rival fitted = s.rival("fitted", "the same", "its slope");
  double measured = 4;  // of a square and a line through 1
  const Quantity fit{0, {ErrorPart::enclosure(0.2)}};
  s.examine = [&](const Setting&, Examination& found) {
    found.judge(equal("at twice the time", Quantity(measured) + fit, measured)
                    .in_units_of(measured)
                    .unless(larger, times(1.1))
                    .against(line, 2)
                    .against(fitted, instead([] { return 2.4; })));
  };
  const Finding apart = check(s, Setting{});
  CHECK(apart.verdict == Verdict::holds);
  CHECK(apart.sound());
  REQUIRE(apart.rivals.size() == 2);
  CHECK(apart.not_distinguished().empty());
  CHECK(apart.counts(line));  // half of the prediction off, where the control is a tenth
  const Finding alike = [&] {
    measured = 2.3;
    return check(s, Setting{});
  }();
  CHECK(alike.verdict == Verdict::inconclusive);
  CHECK(alike.examination.verdict() == Verdict::holds);
  CHECK(alike.not_distinguished() == std::vector<std::string>{"fitted"});
  Setting without;
  without.with_controls = false;
  CHECK(check(s, without).verdict == Verdict::holds);
  SurveyRequest request;
  request.instances = 3;
  CHECK(survey(s, request).power("line") == 1);
}

TEST_CASE("a rival without a free constant that misses by ten controls is one", "[statement]") {
  Statement s;
  s.id = "test";
  const Control control = s.control("control", "five hundredths more");
  const Rival start = s.rival("start", "nothing moves");
  const Rival fitted = s.rival("fitted", "nothing moves", "a level");
  s.examine = [&](const Setting&, Examination& found) {
    found.judge(equal("a number", 1, 1)
                    .unless(control, times(1.05))
                    .against(start, 0.1)
                    .against(fitted, 0.1));
  };
  const Finding found = check(s, Setting{});
  CHECK_FALSE(found.counts(start));
  CHECK(found.counts(fitted));
}

TEST_CASE("every statement is registered once, with a source and controls", "[statement]") {
  const std::map<std::string, std::string> sources{{"joma", "2310.00535"},
                                                   {"scan-snap", "2305.16380"},
                                                   {"scb", "2410.23438"},
                                                   {"topic", "2303.04245"}};
  std::set<std::string> ids;
  int without_rival = 0;
  for (const Statement* each : statements(theories())) {
    const Statement& s = *each;
    CAPTURE(s.id);
    CHECK(ids.insert(s.id).second);
    CHECK_FALSE(s.claim.empty());
    CHECK_FALSE(s.hypotheses.empty());
    CHECK(s.paper.find("arXiv " + sources.at(s.id.substr(0, s.id.find('.')))) == 0);
    CHECK_FALSE(s.reaches.empty());
    CHECK(s.controls.size() >= 2);
    CHECK(s.examine);
    CHECK(s.rivals.empty() != s.no_rival.empty());
    const auto is_false_version = [&](const auto& own) { return own.name == s.false_version; };
    CHECK((std::ranges::any_of(s.controls, is_false_version) ||
           std::ranges::any_of(s.rivals, is_false_version)));
    without_rival += s.no_rival.empty() ? 0 : 1;
  }
  CHECK(without_rival <= 25);
}

TEST_CASE("a margin is a share of the bound, the scale or, of exact numbers, the scale",
          "[statement]") {
  const auto judged = [](const Quantity& measured, Relation relation) {
    Examination it;
    it.judge(
        Comparison{.what = "x", .measured = {measured}, .relation = relation, .predicted = {4.0}});
    return it.evidence.front();
  };
  const Quantity near{4.05, {ErrorPart::enclosure(0.2)}};
  const Evidence equality = judged(near, Relation::equal);
  CHECK(margin_unit(equality) == 0.2);
  CHECK(relative_margin(equality) == Approx(0.75));
  const Evidence inequality = judged(near, Relation::at_most);
  CHECK(margin_unit(inequality) == 4);
  CHECK(relative_margin(inequality) == Approx(0.15 / 4));
  const Evidence exact = judged(6.0, Relation::equal);
  CHECK(margin_unit(exact) == 4);
  CHECK(relative_margin(exact) == -0.5);
  CHECK(relative_margin(judged(3.0, Relation::below)) == 0.25);
}

TEST_CASE("what an erratum says of a paper has a place and a source", "[statement]") {
  std::set<std::string> ids, names;
  for (const Statement* s : statements(theories())) ids.insert(s->id);
  static const std::regex place(R"(arXiv \d{4}\.\d{5}(v\d+| \(version not known\)), .+)");
  for (const Erratum& e : errata(theories())) {
    CAPTURE(e.name);
    CHECK(names.insert(e.name).second);
    CHECK(ids.contains(e.statement));
    CHECK(std::regex_match(e.place, place));
    for (const std::string* text :
         {&e.known, &e.claim, &e.paper_says, &e.algebra_says, &e.effect}) {
      CHECK_FALSE(text->empty());
    }
    REQUIRE_FALSE(e.grades.empty());
    CHECK(std::is_sorted(e.grades.begin(), e.grades.end()));  // the best source first
    const bool read = e.grades.front() == SourceGrade::full_text;
    const bool seen = e.grades.back() != SourceGrade::not_seen;
    // Only a version that was read in full can be quoted, and a version names itself.
    CHECK(read == (e.known.find("read in full, v") != std::string::npos));
    CHECK(read == (e.place.find("version not known") == std::string::npos));
    if (read) {
      const std::string version = e.known.substr(e.known.find(", v") + 2, 2);
      CHECK(e.place.find(version + ",") != std::string::npos);
    }
    if (!seen) CHECK(e.paper_says.find("not seen") != std::string::npos);
    if (e.grades.front() > SourceGrade::authors_code) {
      CHECK(e.known.find("ending the text") != std::string::npos);
    }
  }
}

TEST_CASE("every erratum is shown, and its claim's hypotheses are told", "[statement]") {
  for (const Erratum& e : errata(theories())) {
    CAPTURE(e.name);
    const ErratumFinding found = examine(e);
    CHECK_FALSE(found.examination.hypotheses.empty());
    CHECK(found.shown());
    CHECK_FALSE(found.of_paper().empty());
    for (const auto* evidence : {&found.examination.evidence, &found.of_paper()}) {
      for (const Evidence& item : *evidence) {
        CAPTURE(item.what, item.measured, item.allowed, item.reason, item.detail);
        if (item.kind == EvidenceKind::report) continue;
        const bool claimed = evidence == &found.examination.evidence;
        CHECK(item.verdict == (claimed ? Verdict::holds : Verdict::violated));
      }
    }
    // What is false as printed is so inside the hypotheses of the claim.
    for (const EvaluatedHypothesis& h : found.examination.hypotheses) {
      CAPTURE(h.text, h.by_how_much);
      if (e.kind == ErratumClass::error) CHECK(h.met == Truth::yes);
    }
  }
}

TEST_CASE("an erratum stands if two examinations miss the paper's and agree with ours",
          "[statement]") {
  // Measures 1, off by this in the second examination; ours and the paper's predictions.
  const auto finding = [](double ours, double paper, double second = 0) {
    Erratum e;
    e.examine = [=](Examination& it) {
      const bool refined = refined_tolerance(1e-8) < 1e-8;
      const Quantity one(refined ? 1 + second : 1, {ErrorPart::solver(1, 1.001)});
      it.judge(equal("one", one, ours).unless(in_paper, paper));
    };
    return examine(e);
  };
  CHECK(finding(1, 1.1).shown());
  CHECK(finding(1, 1.1).refined == "solves in double at tolerance 1e-14");
  CHECK_FALSE(finding(1, 1.0005).shown());      // the paper's agrees as well
  CHECK_FALSE(finding(0.9, 1.1).shown());       // ours does not
  CHECK_FALSE(finding(1, 1.1, 0.1).shown());    // the sharper measurement is the paper's
  CHECK_FALSE(finding(1, 1.1, -0.01).shown());  // it is not ours
  Erratum without;
  without.examine = [](Examination& it) {
    it.judge(Comparison{.what = "one", .measured = {1.0}, .predicted = {1.0}});
  };
  CHECK_FALSE(examine(without).shown());  // nothing of the paper is missed
}

// Points of the search of each claim that the tests make.
static std::map<std::string, std::size_t> points_of_searches() {
  std::map<std::string, std::size_t> points;
  std::ifstream file(places::sources() + "/tests/searches.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id;
    std::size_t count = 0;
    if (words >> id >> count) points[id] = count;
  }
  return points;
}

TEST_CASE("every statement says what a search may choose", "[statement]") {
  const std::map<std::string, std::size_t> points = points_of_searches();
  for (const Statement* each : statements(theories())) {
    const Statement& s = *each;
    if (s.needs_data) continue;
    CAPTURE(s.id);
    CHECK(points.contains(s.id));
    std::set<std::string_view> names;
    bool free = false;
    for (const Knob& knob : s.knobs) {
      CAPTURE(knob.name);
      CHECK(names.insert(knob.name).second);
      CHECK_FALSE(knob.meaning.empty());
      // Beyond a hypothesis there may be one value only: documents of one topic.
      const bool single = !knob.breaks.empty() && knob.spacing == Spacing::whole;
      CHECK((single ? knob.low <= knob.high : knob.low < knob.high));
      if (knob.spacing == Spacing::logarithmic) CHECK(knob.low > 0);
      if (knob.spacing == Spacing::whole) CHECK(knob.low == std::floor(knob.low));
      if (!knob.breaks.empty()) continue;
      free = true;
      CHECK(knob.low <= knob.usual);
      CHECK(knob.usual <= knob.high);
    }
    CHECK(free);
  }
}

namespace {

// Ensembles of millions of steps and long flows, which take an hour under the sanitizers; what they
// call is run there by the tests of the model.
bool is_of_long_ensembles(const std::string& id) {
  static const std::set<std::string> ensembles{"scb.convergence",
                                               "scb.two-stages",
                                               "scb.transfer",
                                               "scb.branch",
                                               "scb.small-batch",
                                               "scb.vocabulary",
                                               "scb.transfer-range",
                                               "scb.scratch-range",
                                               "scb.l1-needed",
                                               "scb.lumping",
                                               "scb.softmax-patterns",
                                               "scb.softmax-stage",
                                               "scb.softmax-scratch",
                                               "topic.two-stage",
                                               "topic.same-topic-attention",
                                               "topic.ode-limit",
                                               "topic.embedding",
                                               "topic.stage2-optimum",
                                               "topic.attention-limit",
                                               "scb.transfer-growth",
                                               "scb.ode-limit",
                                               "joma.tree-order",
                                               "joma.level-order",
                                               "joma.latent-scores",
                                               "scan-snap.assumptions",
                                               "scan-snap.learning-rates"};
  return ensembles.contains(id);
}

// A confirmation hides nothing false: what refutes a control in `usual`, the examination of `setting`, is seen in
// the sharper one as well. All controls are judged on the same two examinations, without what is derived, which
// comes first in `usual` and is not examined again.
void refutations_are_confirmed(const Statement& s, const Setting& setting,
                               const Examination& derived, const Examination& usual) {
  const auto evidence_on = [](const Examination& examination, const std::string& control) {
    for (const EvidenceAgainst& each : examination.controls) {
      if (each.name == control) return each.evidence;
    }
    return std::vector<Evidence>{};
  };
  std::optional<Examination> refined;
  for (const Control& control : s.controls) {
    const auto against_control = [&](Setting own, Examination& found) {
      if (refined_draws(1) == 1) {
        found = usual;
        found.evidence = evidence_on(usual, std::string(control.name));
        found.evidence.erase(
            found.evidence.begin(),
            found.evidence.begin() + std::ssize(evidence_on(derived, std::string(control.name))));
        return;
      }
      own.with_controls = true;
      if (!refined) refined = examine(s, own);
      found = *refined;
      found.evidence = evidence_on(*refined, std::string(control.name));
    };
    Finding finding;
    judge_with_confirmation(finding, setting, against_control);
    CAPTURE(s.id, control.name, finding.failure, finding.confirmation.faults);
    CHECK_FALSE(finding.unconfirmed());
  }
}

// What is declared is used: hypotheses are evaluated, controls and rivals judged, clauses decided; and no comparison decides
// nothing.
void uses_its_sheet(const Statement& s, const Examination& found) {
  for (const EvaluatedHypothesis& h : found.hypotheses) {
    CAPTURE(h.text);
    CHECK(h.by_how_much != "not evaluated on this instance");
  }
  for (const Control& control : s.controls) {
    CAPTURE(control.name);
    CHECK(std::any_of(found.controls.begin(), found.controls.end(),
                      [&](const EvidenceAgainst& c) { return c.name == control.name; }));
  }
  for (const Rival& rival : s.rivals) {
    CAPTURE(rival.name);
    CHECK(std::any_of(found.rivals.begin(), found.rivals.end(),
                      [&](const EvidenceAgainst& r) { return r.name == rival.name; }));
  }
  CHECK_FALSE(s.clauses.empty());
  for (const Clause& clause : s.clauses) {
    CAPTURE(clause.text);
    CHECK(clause.checked ==
          std::any_of(found.evidence.begin(), found.evidence.end(),
                      [&](const Evidence& e) { return e.clause == clause.text; }));
  }
  for (const Evidence& item : found.evidence) {
    CAPTURE(item.what);
    CHECK((item.kind == EvidenceKind::report) == item.clause.empty());
  }
  CHECK_FALSE(s.about.empty());
  CHECK_FALSE(s.theorem.empty());
}

void is_sound(const Statement& s) {
  Setting setting;
  // Memory errors show in a quarter of the draws as well; the verdicts are those of the other build.
  if (build::sanitized()) setting.effort = Effort::search;
  const Examination derived = derive(s);
  const Finding finding = check(s, setting, &derived);
  CAPTURE(s.id, finding.failure, finding.examination.broken());
  std::set<std::string> texts;
  for (const Hypothesis& h : s.hypotheses) texts.emplace(h.text);
  for (const EvaluatedHypothesis& h : finding.examination.hypotheses) {
    CAPTURE(h.text);
    CHECK(texts.contains(h.text));
  }
  std::set<EvidenceKind> kinds;
  for (const Evidence& item : finding.examination.evidence) kinds.insert(item.kind);
  for (const EvidenceKind kind : s.reaches) CHECK(kinds.contains(kind));
  uses_its_sheet(s, finding.examination);
  if (build::sanitized()) {
    CHECK(finding.verdict != Verdict::violated);
  } else {
    CHECK(finding.not_distinguished().empty());
    CHECK(finding.sound());
    CHECK((s.rivals.empty() || std::ranges::any_of(s.rivals, [&](const Rival& rival) {
             return finding.counts(rival);
           })));
    // With steps a quarter as long this one takes a minute.
    if (s.id == "scb.softmax-stage") return;
    if (is_of_long_ensembles(s.id)) {
      // The sharper examination takes four times the draws.
      setting.effort = Effort::search;
      refutations_are_confirmed(s, setting, {}, examine(s, setting));
    } else {
      refutations_are_confirmed(s, setting, derived, finding.examination);
    }
  }
}

// No counterexample, and no miss that a second examination does not see; and on the points nearest to
// failing every error part is a bound.
void survives_a_search(const Statement& s, std::size_t points) {
  constexpr std::size_t cheap = 30;  // points of a search
  SearchRequest request;
  request.evaluations = points;
  const std::size_t most_examined_again = request.evaluations >= cheap ? 2
                                          : request.evaluations > 2    ? 1
                                                                       : 0;
  request.seconds = 1e6;
  request.jobs = 1;
  const SearchResult found = falsify(s, request);
  CAPTURE(s.id, found.faults);
  CHECK(found.trials.size() >= request.evaluations);
  CHECK(found.unconfirmed == 0);
  if (found.shrunk) {
    CAPTURE(found.shrunk->point, found.shrunk->seed, found.shrunk->what);
    CHECK_FALSE(found.counterexample);
  }
  std::vector<Trial> nearest = found.trials;
  std::erase_if(nearest, [](const Trial& trial) { return std::isnan(trial.margin); });
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const Trial& a, const Trial& b) { return a.margin < b.margin; });
  std::vector<ErrorRatios> ratios;
  for (std::size_t i = 0; i < std::min(most_examined_again, nearest.size()); ++i) {
    Setting setting;
    setting.seed = nearest[i].seed;
    setting.jobs = 1;
    setting.chosen = nearest[i].point;
    setting.effort = Effort::search;
    add_error_ratios(s, setting, ratios, false);
  }
  for (const ErrorRatios& each : ratios) {
    CAPTURE(each.sharper, each.what, each.moved, each.stated, each.seed, each.point);
    CHECK(each.largest <= 1);
  }
}

}  // namespace

// A case a statement, so that they run side by side.
static void register_cases() {
  const std::map<std::string, std::size_t> searches = points_of_searches();
  for (const Statement* each : statements(theories())) {
    const Statement& s = *each;
    if (s.needs_data) continue;
    register_case(
        s.id + " holds and its controls are refuted, in a confirmation as well",
        is_of_long_ensembles(s.id) ? "[statement][slow][unsanitized]" : "[statement][slow]",
        [each] { is_sound(*each); });
    const auto points = searches.find(s.id);
    if (points == searches.end() || points->second == 0) continue;
    register_case(s.id + " survives a search", "[statement][slow][unsanitized]",
                  [each, count = points->second] { survives_a_search(*each, count); });
  }
}

TEST_CASE("every statement ends soon after a request to stop", "[statement][unsanitized]") {
  // The slowest of them take minutes where a loop does not ask; a loaded machine gets seconds.
  for (const double asked_after : {0.0, 0.05}) {
    for (const Statement* each : statements(theories())) {
      const Statement& s = *each;
      INFO(s.id << ", asked after " << asked_after << " s");
      Setting setting;
      setting.effort = Effort::search;
      setting.with_controls = false;
      const auto begin = std::chrono::steady_clock::now();
      const Deadline deadline{std::chrono::duration<double>(asked_after)};
      check_point(s, setting);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      CHECK(took.count() < 20);
    }
  }
}

}  // namespace statement_test

void popgrad::register_statement_cases() { statement_test::register_cases(); }
