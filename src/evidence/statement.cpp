#include "popgrad/evidence/statement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>

#include "evidence/confirming.hpp"
#include "evidence/early_end.hpp"
#include "popgrad/scalars/refinement.hpp"

namespace popgrad {
namespace {

// Declared hypotheses that the check did not evaluate, with how they are known.
void complete_hypotheses(const Statement& statement, Examination& found) {
  for (const Hypothesis& declared : statement.hypotheses) {
    const bool evaluated =
        std::any_of(found.hypotheses.begin(), found.hypotheses.end(),
                    [&](const EvaluatedHypothesis& h) { return h.text == declared.text; });
    if (evaluated) continue;
    EvaluatedHypothesis own{std::string(declared.text), Truth::undecided, std::string(declared.why),
                            declared.basis, std::numeric_limits<double>::quiet_NaN()};
    if (declared.basis == Basis::by_construction) own.met = Truth::yes;
    if (declared.basis == Basis::evaluated) own.by_how_much = "not evaluated on this instance";
    found.hypotheses.push_back(std::move(own));
  }
}

// The values of all knobs, for `--set`; a user's instance has none.
void tell_knobs(const Statement& statement, const Setting& setting, Examination& found) {
  if (setting.instance != nullptr || statement.knobs.empty()) return;
  Record knobs;
  for (const Knob& knob : statement.knobs) knobs[knob.name] = setting.value(knob);
  found.parameters["knobs"] = knobs;
}

// The evidence against one control in place of the claim's.
void keep_control(const Statement& statement, std::string_view control, Examination& found) {
  const auto against = [&](const Examination& in) {
    return std::find_if(in.controls.begin(), in.controls.end(),
                        [&](const EvidenceAgainst& c) { return c.name == control; });
  };
  found.evidence.clear();
  if (const auto own = against(found); own != found.controls.end()) {
    found.evidence = own->evidence;
  } else if (statement.derive) {
    const Examination derived = derive(statement);
    const auto symbolic = against(derived);
    if (symbolic != derived.controls.end()) found.evidence = symbolic->evidence;
  }
  found.controls.clear();
}

// The check, which is over once a hypothesis is broken.
void examine_within_hypotheses(const Statement& statement, const Setting& setting,
                               Examination& found) {
  const EarlyEnd end(found);
  try {
    statement.examine(setting, found);
  } catch (const Stopped&) {
    if (!end.asked()) throw;
  } catch (const std::exception&) {
    // What was measured in part may fail in any way.
    if (!end.asked()) throw;
  }
}

// With all that a reader needs to judge the check and to repeat it.
void examine_into(const Statement& statement, const Setting& setting, Examination& found,
                  bool despite_hypotheses = false) {
  if (despite_hypotheses) {
    statement.examine(setting, found);
  } else {
    examine_within_hypotheses(statement, setting, found);
  }
  tell_knobs(statement, setting, found);
  complete_hypotheses(statement, found);
}

}  // namespace

Clause Statement::clause(std::string_view text) {
  claim += fmt::format("{}{}", claim.empty() ? "" : "; ", text);
  return clauses.emplace_back(Clause{text});
}

Clause Statement::not_checked(std::string_view text) {
  claim += fmt::format("{}{} (not checked)", claim.empty() ? "" : "; ", text);
  return clauses.emplace_back(Clause{text, false});
}

Hypothesis Statement::assume(const Hypothesis& hypothesis) {
  return hypotheses.emplace_back(hypothesis);
}

Control Statement::control(const char* name, const char* what_is_wrong) {
  return controls.emplace_back(Control{name, what_is_wrong});
}

Rival Statement::rival(const char* name, const char* what, const char* fits) {
  return rivals.emplace_back(Rival{name, what, fits});
}

Knob Statement::knob(const Knob& own) { return knobs.emplace_back(own); }

Statement Statement::checked_by(std::function<void(const Setting&, Examination&)> check,
                                std::function<void(Examination&)> derivation) const {
  Statement whole = *this;
  whole.examine = std::move(check);
  whole.derive = std::move(derivation);
  return whole;
}

double Setting::value(const Knob& knob) const {
  const auto found = chosen.find(knob.name);
  return found == chosen.end() ? knob.usual : found->second;
}

Index Setting::count(const Knob& knob) const {
  return static_cast<Index>(std::lround(value(knob)));
}

std::uint64_t Setting::draw_seed() const { return refined_seed(seed); }

std::uint32_t Setting::draws(std::uint32_t usual) const {
  usual = refined_draws(usual);
  switch (effort) {
    case Effort::search:
      return std::max(2U, usual / 4);
    case Effort::full:
      return usual * 10;
    case Effort::usual:
      break;
  }
  return usual;
}

Examination examine(const Statement& statement, const Setting& setting, std::string_view control) {
  Examination found;
  found.with_controls = setting.with_controls || !control.empty();
  examine_into(statement, setting, found, true);
  if (!control.empty()) keep_control(statement, control, found);
  return found;
}

Examination derive(const Statement& statement) {
  Examination derived;
  if (statement.derive) statement.derive(derived);
  return derived;
}

namespace {

// The largest miss of what is refuted, in units of what was compared.
double miss_of(const Examination& against) {
  double miss = 0;
  for (const Evidence& item : against.evidence) {
    if (item.verdict != Verdict::violated) continue;
    double own = item.measured;
    if (item.measured == 0 && item.allowed == 0) {  // an identity
      own = std::numeric_limits<double>::infinity();
    } else if (item.scale > 0) {
      own /= item.scale;
    }
    miss = std::max(miss, own);
  }
  return miss;
}

// `all` as `declared`, each with the evidence against it.
template <class Declared>
std::vector<std::pair<Declared, Examination>> with_evidence(
    const std::vector<Declared>& declared, const std::vector<EvidenceAgainst>& found) {
  std::vector<std::pair<Declared, Examination>> all;
  for (const Declared& each : declared) {
    Examination& against = all.emplace_back(each, Examination{}).second;
    for (const EvidenceAgainst& own : found) {
      if (own.name == each.name) against.evidence = own.evidence;
    }
  }
  return all;
}

std::string_view text_of(const Control& control) { return control.what_is_wrong; }
std::string_view text_of(const Rival& rival) { return rival.what; }

// Those declared, with the evidence against them, into `kept`. What says the same as the claim on an instance that a
// user chose is neither a mistake nor another explanation, and goes into `same_here`.
template <class Declared>
void keep(const std::vector<Declared>& declared, const std::vector<EvidenceAgainst>& judged,
          const Setting& setting, std::vector<std::pair<Declared, Examination>>& kept,
          std::vector<Control>& same_here) {
  const bool is_chosen = setting.instance != nullptr || !setting.chosen.empty();
  for (auto& [each, against] : with_evidence(declared, judged)) {
    const std::string_view name = each.name;
    const bool differs = std::ranges::any_of(
        judged, [&](const EvidenceAgainst& own) { return own.name == name && own.differs; });
    if (is_chosen && !against.evidence.empty() && !differs) {
      same_here.push_back({name, text_of(each)});
    } else {
      kept.emplace_back(each, std::move(against));
    }
  }
}

}  // namespace

std::vector<std::string> Finding::not_distinguished() const {
  std::vector<std::string> names;
  for (const auto& [rival, against] : rivals) {
    if (against.conclusion() != Verdict::violated) names.emplace_back(rival.name);
  }
  return names;
}

bool Finding::counts(const Rival& rival) const {
  if (!rival.fits.empty()) return true;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [control, against] : controls) {
    if (const double miss = miss_of(against); miss > 0) least = std::min(least, miss);
  }
  return std::ranges::any_of(rivals, [&](const auto& own) {
    return own.first.name == rival.name && miss_of(own.second) < 10 * least;
  });
}

bool Finding::sound() const {
  if (verdict != Verdict::holds || controls.empty()) return false;
  for (const auto& [control, outcome] : controls) {
    if (outcome.verdict() != Verdict::violated) return false;
  }
  return true;
}

Finding check(const Statement& statement, const Setting& setting, const Examination* derived) {
  Finding finding;
  finding.statement = &statement;
  const auto begin = std::chrono::steady_clock::now();
  if (statement.needs_data && setting.data_file.empty()) {
    finding.lacks_data = true;
    finding.verdict = Verdict::not_applicable;
    finding.failure = "needs --data FILE";
    return finding;
  }
  judge_with_confirmation(finding, setting, [&](const Setting& own, Examination& found) {
    found = derived != nullptr ? *derived : derive(statement);
    found.with_controls = own.with_controls;
    examine_into(statement, own, found);
  });
  const Examination& found = finding.examination;
  keep(statement.controls, found.controls, setting, finding.controls, finding.same_here);
  if (setting.with_controls) {
    keep(statement.rivals, found.rivals, setting, finding.rivals, finding.same_here);
  }
  if (finding.verdict == Verdict::holds && !finding.not_distinguished().empty()) {
    finding.verdict = Verdict::inconclusive;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  finding.seconds = seconds.count();
  return finding;
}

Finding check_point(const Statement& statement, const Setting& setting,
                    const PointRequest& request) {
  Finding finding;
  finding.statement = &statement;
  judge_with_confirmation(
      finding, setting,
      [&](const Setting& own, Examination& found) {
        // What is found before an exception stays, as a broken hypothesis explains it.
        found.with_controls = own.with_controls || !request.control.empty();
        examine_into(statement, own, found, request.despite_hypotheses);
        if (!request.control.empty()) keep_control(statement, request.control, found);
        if (request.slack > 0) found = found.within(request.slack);
        if (request.despite_hypotheses) found.hypotheses.clear();
      },
      request.confirm);
  return finding;
}

}  // namespace popgrad
