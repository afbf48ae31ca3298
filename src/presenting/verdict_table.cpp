#include "presenting/verdict_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json.hpp"
#include "io/examination_json.hpp"
#include "io/json_document.hpp"
#include "io/json_number.hpp"
#include "io/made_with.hpp"
#include "io/plain_text.hpp"
#include "presenting/catalogue.hpp"
#include "presenting/reproduction.hpp"
#include "presenting/result_table.hpp"

namespace popgrad {
namespace {

// Kinds of evidence that judged, in order of strength, each once.

constexpr std::string_view column_of_worst = "off/allowed";

// The comparison that is nearest to failing, in units of what is allowed, and the largest part of
// that: what to refine.
std::string worst(const Finding& finding) {
  const Examination& examination = finding.examination;
  // Outside of its hypotheses a claim has no bound to keep.
  if (finding.verdict == Verdict::not_applicable) return "-";
  const Evidence* tightest = examination.tightest();
  if (tightest == nullptr) return examination.evidence.empty() ? "-" : "identity";
  const std::string share = share_text(share_of_allowed(*tightest));
  return tightest->largest_part.empty() ? share
                                        : fmt::format("{} ({})", share, tightest->largest_part);
}

// How many controls or rivals are refuted. A check that failed has judged none, and one that does not
// apply need not.
template <class All>
std::string refuted(const Finding& finding, const All& all) {
  if (all.empty() || finding.verdict == Verdict::not_applicable) return "-";
  const auto count = std::ranges::count_if(
      all, [](const auto& each) { return each.second.verdict() == Verdict::violated; });
  return fmt::format("{}/{}", count, all.size());
}

std::string verdict_word(const Finding& finding) {
  return finding.lacks_data ? "needs data" : name_of(finding.verdict);
}

// The control or rival that is refuted least often; nullptr: none is declared.
template <class Declared>
const Declared* weakest(const std::vector<Declared>& all, const Survey& found) {
  const Declared* least = nullptr;
  for (const Declared& each : all) {
    if (least == nullptr || found.power(each.name) < found.power(least->name)) least = &each;
  }
  return least;
}

const char* word_of(Truth met) {
  return met == Truth::yes ? "met" : met == Truth::no ? "not met" : "undecided";
}

// Violated on an instance that the statement made.
bool is_counterexample(const Verification& v, const Finding& finding) {
  return finding.verdict == Verdict::violated && v.surveys.empty() && !v.of_file;
}

Json survey_json(const Verification& v, const Statement& statement, const Survey& found) {
  Json violations = Json::array();
  for (const ViolatedInstance& instance : found.violations) {
    Json knobs = Json::object();
    for (const auto& [name, value] : instance.point) knobs[name] = json_number(value);
    violations.push_back(
        {{"seed", instance.seed},
         {"knobs", knobs},
         {"reproduce", reproduction_line(v.caller, statement, instance.seed, instance.point)},
         {"evidence", evidence_json(instance.evidence)}});
  }
  Json broken = Json::object();
  for (const auto& [hypothesis, exclusion] : found.broken) {
    broken[plain_text(hypothesis)] = exclusion.instances;
  }
  Json undecided = Json::object();
  for (const auto& [what, times] : found.undecided) undecided[plain_text(what)] = times;
  return {{"examined", found.instances},
          {"holds", found.holds},
          {"violated", found.violated},
          {"inconclusive", found.inconclusive},
          {"unconfirmed", found.unconfirmed},
          {"not-applicable", found.not_applicable},
          {"broken", broken},
          {"undecided", undecided},
          {"violations", violations}};
}

std::string clause_verdict(const Examination& examination, const Clause& clause) {
  return clause.checked ? name_of(examination.verdict(clause)) : "not checked";
}

// What decides this clause; without one, what decides none.
std::string evidence_lines(const Examination& examination, std::string_view clause) {
  std::string text;
  for (const Evidence& item : examination.evidence) {
    if (item.clause != clause) continue;
    const bool identity = item.measured == 0 && item.allowed == 0;
    const bool report = !identity && item.kind == EvidenceKind::report;
    std::string found = item.what;
    if (report) found += fmt::format(": {:.4g}", item.measured);
    if (!identity && !report) found += ": " + numbers_text(item);
    if ((identity || report) && !item.detail.empty()) found += "; " + item.detail;
    text += fmt::format("{}{:<12} {:<13} {}\n", clause.empty() ? "  " : "    ", name_of(item.kind),
                        report ? "" : name_of(item.verdict), found);
  }
  return text;
}

// A line each, with its margin and how it is known.
std::string hypothesis_lines(const Examination& examination, std::string_view indent = "  ") {
  ResultTable table(
      {words({}), words({}, 9, 2), words({}, 15, 2), numbers({}, 10, {}, 2), words({}, 0, 2)});
  for (const EvaluatedHypothesis& h : examination.hypotheses) {
    table.add(plain_text(h.text), word_of(h.met), name_of(h.basis),
              std::isnan(h.margin) ? "" : fmt::format("{:.3g}", h.margin + 0.0),
              plain_text(h.by_how_much));
  }
  return table.text(indent);
}

Json clauses_json(const Finding& finding) {
  Json clauses = Json::array();
  for (const Clause& clause : finding.statement->clauses) {
    clauses.push_back({{"text", plain_text(clause.text)},
                       {"verdict", clause_verdict(finding.examination, clause)}});
  }
  return clauses;
}

std::size_t count(const Verification& v, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(v.findings.begin(), v.findings.end(),
                    [&](const Finding& f) { return f.verdict == verdict; }));
}

}  // namespace

std::string evidence_kinds(const Examination& examination) {
  std::set<EvidenceKind> kinds;
  for (const Evidence& item : examination.evidence) {
    if (item.kind != EvidenceKind::report) kinds.insert(item.kind);
  }
  std::string text;
  for (const EvidenceKind kind : kinds) text += (text.empty() ? "" : ", ") + name_of(kind);
  return text;
}

std::string share_text(double share) {
  if (std::isinf(share) && share < 0) return "exact";
  for (int digits = 2;; ++digits) {
    std::string text = fmt::format("{:.{}g}", share, digits);
    if (digits == 17 || (text != "1" && text != "-1")) return text;
  }
}

std::string numbers_text(const Evidence& item) {
  if (item.measured == 0 && item.allowed == 0) return item.detail;
  const bool right_side = item.inequality && item.measured < 0;
  std::string text = item.detail.empty() ? "" : item.detail + "; ";
  text += fmt::format("{} by {:.4g}", right_side ? "on the right side" : "off",
                      right_side ? -item.measured : item.measured);
  const double share = std::fabs(share_of_allowed(item));
  if (std::isinf(share)) {
    if (!right_side) text += ", nothing allowed";
  } else {
    text += fmt::format(", {} {} the allowed {:.4g}", share_text(share), share > 1 ? "times" : "of",
                        item.allowed);
  }
  return fmt::format("{} ({})", text, item.reason);
}

std::string confirmation_text(const Confirmation& confirmation) {
  return fmt::format(
      "{} by a second examination: {}", confirmation.confirmed ? "confirmed" : "not confirmed",
      confirmation.refined.empty() ? "nothing in it can be refined" : confirmation.refined);
}

std::string verdict_table(const Verification& v) {
  ResultTable table({words("statement"), words("verdict", 14), words("evidence"),
                     words(column_of_worst), numbers("controls", 8), numbers("rivals", 6),
                     numbers("seconds", 7, ".2f")});
  for (const Finding& finding : v.findings) {
    if (finding.lacks_data) {
      table.add(finding.statement->id, verdict_word(finding), "--data FILE", "", "", "", "");
      continue;
    }
    table.add(finding.statement->id, verdict_word(finding), evidence_kinds(finding.examination),
              worst(finding), refuted(finding, finding.controls), refuted(finding, finding.rivals),
              finding.seconds);
  }
  std::string text = table.text();
  for (const Finding& finding : v.findings) {
    const bool applies = finding.verdict != Verdict::not_applicable;
    const auto add = [&](const std::string& what) {
      text += fmt::format("{}: {}\n", finding.statement->id, what);
    };
    if (!finding.failure.empty() && !finding.lacks_data) add(finding.failure);
    if (finding.confirmation.attempted) add(confirmation_text(finding.confirmation));
    for (const std::string& fault : finding.confirmation.faults)
      add("fault of the check: " + fault);
    for (const Evidence& item : finding.examination.evidence) {
      if (!applies || item.kind == EvidenceKind::report || item.verdict == Verdict::holds) continue;
      add(fmt::format("{}: {}: {}", name_of(item.verdict), item.what, numbers_text(item)));
    }
    if (is_counterexample(v, finding)) {
      add("counterexample: " + reproduction_line(v.caller, finding, v.seed));
    }
    if (const EvaluatedHypothesis* broken = finding.examination.broken()) {
      add(fmt::format("not applicable: '{}' is not met{}{}", broken->text,
                      broken->by_how_much.empty() ? "" : ": ", broken->by_how_much));
    }
    for (const EvaluatedHypothesis& h : finding.examination.hypotheses) {
      if (!applies || h.basis != Basis::assumed) continue;
      add(fmt::format("assumed, not tested: {}{}{}", h.text, h.by_how_much.empty() ? "" : ": ",
                      h.by_how_much));
    }
    for (const Control& control : finding.same_here) {
      add(fmt::format("'{}' ({}) says the same as the claim on this instance", control.name,
                      control.what_is_wrong));
    }
    if (!applies) continue;
    for (const auto& [control, examination] : finding.controls) {
      if (examination.verdict() == Verdict::violated) continue;
      add(fmt::format("control '{}' ({}) is not refuted but {}: this check is void", control.name,
                      control.what_is_wrong, name_of(examination.verdict())));
    }
    for (const auto& [rival, examination] : finding.rivals) {
      if (examination.verdict() == Verdict::violated) continue;
      add(fmt::format("not distinguished from {}: {}", rival.name, rival.what));
    }
  }
  text += fmt::format(
      "{} hold, {} violated, {} inconclusive, {} not applicable; seed {}; false-alarm "
      "probability at most {:.0e} over all statistical comparisons\n",
      count(v, Verdict::holds), count(v, Verdict::violated), count(v, Verdict::inconclusive),
      count(v, Verdict::not_applicable), v.seed, v.false_alarm);
  return plain_text(text);
}

std::string survey_table(const Verification& v) {
  ResultTable table({words("statement"), numbers("instances", 9), numbers("hold", 7),
                     numbers("violated", 8), numbers("inconclusive", 12),
                     numbers("not applicable", 14), numbers("power", 6),
                     words("of the weakest control", 22, 2), numbers("seconds", 8, ".1f")});
  for (std::size_t i = 0; i < v.findings.size(); ++i) {
    const Statement& s = *v.findings[i].statement;
    const Survey& found = v.surveys[i];
    if (v.findings[i].lacks_data) {
      table.add(s.id, "", "", "", "", "needs --data", "", "", "");
      continue;
    }
    const Control* control = weakest(s.controls, found);
    table.add(s.id, found.instances, found.holds, found.violated, found.inconclusive,
              found.not_applicable,
              control == nullptr ? "" : fmt::format("{:.2f}", found.power(control->name)),
              control == nullptr ? "" : control->name, found.seconds);
  }
  std::string text = table.text();
  for (std::size_t i = 0; i < v.findings.size(); ++i) {
    const std::string& id = v.findings[i].statement->id;
    for (const auto& [hypothesis, exclusion] : v.surveys[i].broken) {
      text += fmt::format("{}: not applicable to {}: '{}' is not met, as in {}\n", id,
                          exclusion.instances, hypothesis, exclusion.example);
    }
    for (const auto& [what, count] : v.surveys[i].undecided) {
      text += fmt::format("{}: inconclusive on {}: {}\n", id, count, what);
    }
    if (v.surveys[i].violations.empty()) continue;
    const ViolatedInstance& first = v.surveys[i].violations.front();
    text +=
        fmt::format("{}: violated at: {}\n", id,
                    reproduction_line(v.caller, *v.findings[i].statement, first.seed, first.point));
    text += fmt::format("  {}: {}\n", first.evidence.what, numbers_text(first.evidence));
  }
  return plain_text(text) +
         fmt::format(
             "instances from seed {} on; false-alarm probability at most {:.0e} over all "
             "statistical comparisons\n",
             v.seed, v.false_alarm);
}

std::string survey_markdown(const Verification& v) {
  std::string text =
      "| statement | claim | clauses | instances | holds | violated | undecided | outside | false "
      "version | strongest rival | weakest control |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n";
  const auto add_row = [&](const std::vector<std::string>& cells) {
    for (std::string cell : cells) {
      for (std::size_t bar = cell.find('|'); bar != std::string::npos;
           bar = cell.find('|', bar + 2)) {
        cell.insert(bar, "\\");
      }
      text += fmt::format("| {} ", cell);
    }
    text += "|\n";
  };
  for (std::size_t i = 0; i < v.findings.size(); ++i) {
    const Statement& s = *v.findings[i].statement;
    const Survey& found = v.surveys[i];
    const auto power = [&](std::string_view name) {
      if (name.empty()) return std::string("none");
      if (found.applicable() == 0) return fmt::format("`{}`", name);
      return fmt::format("{:.2f} `{}`", found.power(name), name);
    };
    const auto unchecked = std::ranges::count(s.clauses, false, &Clause::checked);
    const Rival* rival = weakest(s.rivals, found);
    const Control* control = weakest(s.controls, found);
    add_row({fmt::format("`{}`", s.id), s.claim,
             unchecked == 0
                 ? fmt::format("{}", s.clauses.size())
                 : fmt::format("{}, {} not", std::ssize(s.clauses) - unchecked, unchecked),
             fmt::format("{}", found.instances), fmt::format("{}", found.holds),
             fmt::format("{}", found.violated), fmt::format("{}", found.inconclusive),
             fmt::format("{}", found.not_applicable), power(s.false_version),
             power(rival == nullptr ? "" : rival->name),
             power(control == nullptr ? "" : control->name)});
  }
  return text;
}

std::string hypothesis_table(const Verification& v) {
  std::string text;
  for (const Finding& finding : v.findings) {
    if (finding.examination.hypotheses.empty()) continue;
    text += fmt::format("\n{}\n{}", finding.statement->id, hypothesis_lines(finding.examination));
  }
  return text;
}

std::string audit_table(const Examination& audit) {
  ResultTable table({words({}), words({}, 0, 2), words({}, 9, 2), words({}, 0, 2)});
  for (const EvaluatedHypothesis& h : audit.hypotheses) {
    table.add("hypothesis", plain_text(h.text), word_of(h.met), plain_text(h.by_how_much));
  }
  for (const Evidence& item : audit.evidence) {
    table.add("conclusion", plain_text(item.what),
              item.verdict == Verdict::holds ? "holds" : "fails",
              fmt::format("{:.3g}{}", item.measured,
                          item.detail.empty() ? "" : "; " + plain_text(item.detail)));
  }
  return table.text();
}

std::string verdict_details(const Verification& v) {
  std::string text;
  for (const Finding& finding : v.findings) {
    const Statement& s = *finding.statement;
    text += fmt::format("\n{}  {}\n  {}\n  {}; {}\n", s.id, verdict_word(finding), s.claim, s.paper,
                        s.status);
    if (!s.about.empty()) text += fmt::format("  judged on {}\n", s.about);
    text += indented(s.theorem, "    ");
    text += "  hypotheses\n" + hypothesis_lines(finding.examination, "    ");
    if (finding.examination.hypotheses.empty()) {
      for (const Hypothesis& declared : s.hypotheses)
        text += fmt::format("    {}\n", declared.text);
    }
    const bool applies = finding.verdict != Verdict::not_applicable;
    for (const Clause& clause : s.clauses) {
      text += fmt::format("  {:<26} {}\n",
                          applies ? clause_verdict(finding.examination, clause) : "not applicable",
                          clause.text);
      text += evidence_lines(finding.examination, clause.text);
    }
    text += evidence_lines(finding.examination, {});
    if (is_counterexample(v, finding)) {
      text += fmt::format("  counterexample: {}\n", reproduction_line(v.caller, finding, v.seed));
    }
    if (!applies) continue;
    for (const auto& [control, examination] : finding.controls) {
      text += fmt::format("  control      {:<13} {}: {}\n", name_of(examination.verdict()),
                          control.name, control.what_is_wrong);
    }
    for (const auto& [rival, examination] : finding.rivals) {
      text += fmt::format("  rival        {:<13} {}: {}{}\n", name_of(examination.verdict()),
                          rival.name, rival.what,
                          rival.fits.empty() ? "" : fmt::format(" ({} fitted)", rival.fits));
    }
    if (s.rivals.empty()) text += fmt::format("  {}\n", no_rival_text(s));
  }
  return plain_text(text);
}

std::string verdict_json(const Verification& v) {
  Json statements = Json::array();
  for (std::size_t i = 0; i < v.findings.size(); ++i) {
    const Finding& finding = v.findings[i];
    const Statement& s = *finding.statement;
    const Json examined = examination_json(finding.examination);
    Json controls = Json::array();
    for (const auto& [control, examination] : finding.controls) {
      Json found = Json::array();
      for (const Evidence& item : examination.evidence) {
        if (item.verdict == Verdict::violated) found.push_back(evidence_json(item));
      }
      controls.push_back({{"name", control.name},
                          {"what_is_wrong", plain_text(control.what_is_wrong)},
                          {"verdict", name_of(examination.verdict())},
                          {"refuted_by", found}});
    }
    Json rivals = Json::array();
    for (const auto& [rival, examination] : finding.rivals) {
      rivals.push_back(rival_json(rival));
      rivals.back()["verdict"] = name_of(examination.verdict());
      rivals.back()["counts"] = finding.counts(rival);
    }
    Json margin = nullptr;
    if (const Evidence* tightest = finding.examination.tightest()) {
      margin = {{"what", plain_text(tightest->what)},
                {"measured", json_number(tightest->measured)},
                {"allowed", json_number(tightest->allowed)}};
    }
    Json item{{"id", s.id},
              {"claim", plain_text(s.claim)},
              {"paper", plain_text(s.paper)},
              {"status", s.status},
              {"hypotheses", examined["hypotheses"]},
              {"verdict", name_of(finding.verdict)},
              {"evidence", examined["evidence"]},
              {"about", plain_text(s.about)},
              {"theorem", s.theorem},
              {"clauses", clauses_json(finding)},
              {"margin", margin},
              {"parameters", to_json(finding.examination.parameters)},
              {"controls", controls},
              {"rivals", rivals},
              {"no_rival", plain_text(s.no_rival)},
              {"confirmed", finding.confirmation.attempted ? Json(finding.confirmation.confirmed)
                                                           : Json(nullptr)},
              {"seconds", finding.seconds}};
    if (finding.confirmation.attempted) {
      Json faults = Json::array();
      for (const std::string& fault : finding.confirmation.faults)
        faults.push_back(plain_text(fault));
      item["confirmation"] = {{"refined", finding.confirmation.refined}, {"faults", faults}};
    }
    for (const Control& control : finding.same_here) item["same_as_claim"].push_back(control.name);
    if (finding.lacks_data) item["needs"] = "--data FILE";
    if (!v.surveys.empty() && !finding.lacks_data) {
      const Survey& found = v.surveys[i];
      item["instances"] = survey_json(v, s, found);
      // Over instances clauses have no verdict of their own.
      for (Json& clause : item["clauses"]) clause.erase("verdict");
      item["controls"] = Json::array();
      for (const Control& control : s.controls) {
        item["controls"].push_back({{"name", control.name},
                                    {"what_is_wrong", plain_text(control.what_is_wrong)},
                                    {"power", json_number(found.power(control.name))}});
      }
      item["rivals"] = Json::array();
      for (const Rival& rival : s.rivals) {
        item["rivals"].push_back(rival_json(rival));
        item["rivals"].back()["power"] = json_number(found.power(rival.name));
      }
    }
    if (!finding.failure.empty()) item["failure"] = finding.failure;
    if (is_counterexample(v, finding)) {
      item["reproduce"] = reproduction_line(v.caller, finding, v.seed);
    }
    statements.push_back(std::move(item));
  }
  Json document = json_document("verdicts/2");
  document["command"] = v.command;
  document["seed"] = v.seed;
  document["false_alarm"] = v.false_alarm;
  document["statements"] = std::move(statements);
  document["summary"] = {{"holds", count(v, Verdict::holds)},
                         {"violated", count(v, Verdict::violated)},
                         {"inconclusive", count(v, Verdict::inconclusive)},
                         {"not-applicable", count(v, Verdict::not_applicable)}};
  return document.dump(1) + "\n";
}

std::string verdict_latex(const Verification& v) {
  const auto escape = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '_' || c == '%' || c == '&' || c == '#' || c == '$') out += '\\';
      if (c == '^') {
        out += "\\^{}";
      } else {
        out += c;
      }
    }
    return out;
  };
  std::string text = fmt::format(
      "% Made by: {}\n% popgrad {}, seed {}, false alarms at most {:g} in all\n"
      "\\begin{{tabular}}{{lllll}}\n\\hline\n",
      v.command, versions().front().second, v.seed, v.false_alarm);
  text += "statement & verdict & evidence & off/allowed & controls refuted \\\\\n\\hline\n";
  for (const Finding& finding : v.findings) {
    if (finding.lacks_data) continue;
    text += fmt::format("\\texttt{{{}}} & {} & {} & {} & {} \\\\\n", escape(finding.statement->id),
                        verdict_word(finding), evidence_kinds(finding.examination),
                        escape(worst(finding)), refuted(finding, finding.controls));
  }
  return text + "\\hline\n\\end{tabular}\n";
}

}  // namespace popgrad
