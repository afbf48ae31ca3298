#include "theory_files/residual_statements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "learning/law_mutants.hpp"
#include "popgrad/evidence/examined_instance.hpp"
#include "popgrad/learning/residual.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad::theory_files {
namespace residual_statements_cpp {
namespace {

using Outcome = Residual::Outcome;

// Of the field, along a flow in double.
constexpr double zero_in_double = 1e-8;
// Of samples: normal deviations have more than five with a chance of 6e-7 a number.
constexpr double most_standard_errors = 5;

/// What a statement is made of; texts stay where they are as long as it lives.
struct Sheet {
  SampleLoss loss;
  std::string subject, hypothesis, unlike;
  learning::MutatedLoss mutated;
};

Truth truth_of(const Residual& residual) {
  switch (residual.outcome) {
    case Outcome::proved:
    case Outcome::zero_at_points:
      return Truth::yes;
    case Outcome::refuted:
      return Truth::no;
    case Outcome::not_examined:
      return Truth::undecided;
    case Outcome::measured:
      break;
  }
  if (residual.error == 0) return residual.largest <= zero_in_double ? Truth::yes : Truth::no;
  if (residual.standard_errors > most_standard_errors) return Truth::no;
  return residual.error <= noticed_share ? Truth::yes : Truth::undecided;
}

EvidenceKind kind_of(const Residual& residual) {
  switch (residual.outcome) {
    case Outcome::proved:
      return EvidenceKind::symbolic;
    case Outcome::refuted:
    case Outcome::zero_at_points:
      return residual.how.find("rational") != std::string::npos ? EvidenceKind::exact
                                                                : EvidenceKind::numerical;
    case Outcome::measured:
    case Outcome::not_examined:
      break;
  }
  return residual.error == 0 ? EvidenceKind::numerical : EvidenceKind::statistical;
}

// Without its subject.
std::string detail_of(const Residual& residual) {
  return to_text(residual).substr(residual.subject.size() + 2);
}

std::vector<Residual> residuals_of_mutants(const Sheet& sheet, const Parameters& given,
                                           std::uint64_t seed) {
  ResidualRequest request{.subjects = {}, .seed = seed, .only_points = true};
  for (const learning::LawMutant& mutant : sheet.mutated.mutants)
    request.subjects.push_back(mutant.subject);
  if (request.subjects.empty()) return {};
  return residuals(sheet.mutated.loss, given, request);
}

// Numbers of sizes and parameters, as an instance file has them.
Record instance_of(const SampleLoss& loss, const Parameters& given) {
  Record record = given.values();
  const auto set = [&](const std::string& name, const Value& value) {
    if (record.find(name) == nullptr) record[name] = value;
  };
  for (const LossSize& size : loss.sizes) set(size.name, size.value);
  for (const LossParameter& p : loss.parameters) {
    if (p.value.as<std::string>() == nullptr) set(p.name, p.value);
  }
  return record;
}

void examine(const Sheet& sheet, const Setting& setting, Examination& it) {
  const Parameters given =
      setting.instance != nullptr ? *setting.instance : Parameters(sheet.loss.name);
  hand_over([&] { return ExaminedInstance{instance_of(sheet.loss, given), {}}; });
  it.parameters = instance_of(sheet.loss, given);
  const Residual found =
      residuals(sheet.loss, given, {.subjects = {sheet.subject}, .seed = setting.seed}).at(0);
  std::string detail = detail_of(found);
  if (!sheet.unlike.empty()) detail += "; not counted as controls: " + sheet.unlike;
  Identity claim = identity("the residual is 0", [&] { return truth_of(found); });
  claim.of_kind(kind_of(found)).with(detail);
  if (it.with_controls) {
    const auto wrong = std::make_shared<const std::vector<Residual>>(
        residuals_of_mutants(sheet, given, setting.seed));
    for (std::size_t k = 0; k < wrong->size(); ++k) {
      claim.mistakes.emplace_back(sheet.mutated.mutants[k].name,
                                  [wrong, k] { return truth_of((*wrong)[k]); });
    }
  }
  it.judge(claim);
}

// Keeps mutants that differ from the law at the points, and lists the others.
void choose_mutants(Sheet& sheet, const Residual& law) {
  constexpr std::size_t most = 32, most_sampled = 4;
  const bool is_sampled = law.outcome == Outcome::measured;
  sheet.mutated =
      learning::mutated_loss(sheet.loss, sheet.subject, is_sampled ? most_sampled : most);
  std::vector<std::string> unlike = sheet.mutated.refused;
  for (std::string& what : unlike) what += " (shapes)";
  if (!is_sampled) {
    const std::vector<Residual> found = residuals_of_mutants(sheet, Parameters(sheet.loss.name), 1);
    std::vector<learning::LawMutant> kept;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const learning::LawMutant& mutant = sheet.mutated.mutants[k];
      if (found[k].is_zero()) {
        unlike.push_back(mutant.what + " (equal)");
      } else if (found[k].outcome == Outcome::not_examined) {
        unlike.push_back(mutant.what + " (not defined)");
      } else {
        kept.push_back(mutant);
      }
    }
    if (!kept.empty()) sheet.mutated.mutants = std::move(kept);
  }
  sheet.unlike = fmt::format("{}", fmt::join(unlike, "; "));
}

struct Wording {
  std::string id, claim, about, theorem;
};

std::string lines_of(const char* kind, const std::vector<NamedFormula>& formulas) {
  std::string text;
  for (const NamedFormula& f : formulas)
    text += fmt::format("  {} {} = {}\n", kind, f.name, f.formula);
  return text;
}

Wording wording_of(const SampleLoss& loss, const std::string& subject, std::string& hypothesis) {
  hypothesis = "every state where the formulas are defined";
  for (const NamedFormula& e : loss.expected) {
    if (subject != "loss." + e.name) continue;
    return {
        fmt::format("{}.expected-loss", loss.name),
        "the expected loss as written is the expectation of the loss", "the rung flow",
        fmt::format("The expectation of the loss of one sample over the law is\n  {}", e.formula)};
  }
  for (const LossInvariant& i : loss.invariants) {
    if (subject != "invariant." + i.name) continue;
    return {fmt::format("{}.invariant-{}", loss.name, i.name),
            fmt::format("`{}` does not change along {}", i.name, i.of), "the rung " + i.of,
            fmt::format("Along {}, d/dt of\n  {} = {}\nis 0.", i.of, i.name, i.formula)};
  }
  for (const LossRung& r : loss.rungs) {
    const bool closed = subject == fmt::format("rung.{}.closed", r.name);
    if (!closed && subject != "rung." + r.name) continue;
    if (!r.domain.empty()) hypothesis = r.domain;
    const std::string laws = lines_of("map", r.map) + lines_of("lift", r.lift) +
                             lines_of("flow", r.flow) + lines_of("step", r.step);
    if (closed) {
      const std::string of = r.flow.empty() ? r.of : r.name;
      return {fmt::format("{}.closed-{}", loss.name, r.name),
              fmt::format("the closed form of `{}` solves the flow of {}", r.name, of),
              "the rung " + r.name,
              fmt::format("The functions of time\n{}solve {} from its start:\n{}",
                          lines_of("closed", r.closed), of, laws)};
    }
    return {
        fmt::format("{}.residual-{}", loss.name, r.name),
        fmt::format("`{}` is a reduction of {}: its residual is 0", r.name, r.of),
        fmt::format("the rungs {} and {}", r.of, r.name),
        fmt::format("The law of {} is that of {} on what it stands for:\n{}", r.name, r.of, laws)};
  }
  return {};
}

}  // namespace
}  // namespace residual_statements_cpp

std::vector<Statement> residual_statements(const SampleLoss& loss) {
  using namespace residual_statements_cpp;
  std::vector<Statement> statements;
  std::vector<std::string> subjects;
  const auto is_approximate = [&](const std::string& subject) {
    return std::any_of(loss.rungs.begin(), loss.rungs.end(), [&](const LossRung& r) {
      return r.approximate && subject == "rung." + r.name;
    });
  };
  for (std::string& subject : residual_subjects(loss)) {
    if (!is_approximate(subject)) subjects.push_back(std::move(subject));
  }
  if (subjects.empty()) return {};
  const std::vector<Residual> laws =
      residuals(loss, {}, {.subjects = subjects, .seed = 1, .only_points = true});
  for (const Residual& law : laws) {
    if (law.outcome == Outcome::not_examined) continue;
    const auto sheet = std::make_shared<Sheet>();
    sheet->loss = loss;
    sheet->subject = law.subject;
    const Wording wording = wording_of(loss, law.subject, sheet->hypothesis);
    choose_mutants(*sheet, law);
    Statement made{
        .id = wording.id,
        .claim = wording.claim,
        .paper = loss.paper,
        .status = "written in the theory file",
        .about = wording.about,
        .theorem = wording.theorem,
        .hypotheses = {by_construction(sheet->hypothesis.c_str(), "points are drawn within it")},
        .reaches = {EvidenceKind::symbolic, EvidenceKind::exact, EvidenceKind::numerical,
                    EvidenceKind::statistical},
        .no_rival = "an identity in states and parameters",
        .reads = loss.loss.empty() ? loss.rungs.front().name : "flow"};
    for (const learning::LawMutant& mutant : sheet->mutated.mutants)
      made.controls.push_back({mutant.name, mutant.what});
    if (!made.controls.empty()) made.false_version = made.controls.front().name;
    made.examine = [sheet](const Setting& setting, Examination& it) {
      residual_statements_cpp::examine(*sheet, setting, it);
    };
    statements.push_back(std::move(made));
  }
  return statements;
}

}  // namespace popgrad::theory_files
