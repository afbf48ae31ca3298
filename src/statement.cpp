#include "popgrad/statement.hpp"

#include <chrono>
#include <cmath>
#include <exception>

namespace popgrad {
namespace {

Verdict verdict_of(Truth truth) {
  switch (truth) {
    case Truth::yes:
      return Verdict::holds;
    case Truth::no:
      return Verdict::violated;
    case Truth::undecided:
      break;
  }
  return Verdict::inconclusive;
}

// How far inside its bound an item is, in units of the bound; 0 on the bound, negative outside.
double relative_margin(const Evidence& item) {
  const double scale = std::fabs(item.allowed) > 0 ? std::fabs(item.allowed) : 1.0;
  return (item.allowed - item.measured) / scale;
}

}  // namespace

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::violated:
      return "violated";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::not_applicable:
      break;
  }
  return "not-applicable";
}

std::string name_of(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::symbolic:
      return "symbolic";
    case EvidenceKind::exact:
      return "exact";
    case EvidenceKind::certified:
      return "certified";
    case EvidenceKind::numerical:
      return "numerical";
    case EvidenceKind::statistical:
      return "statistical";
    case EvidenceKind::report:
      break;
  }
  return "report";
}

Evidence bounded(EvidenceKind kind, std::string what, double measured, double allowed,
                 std::string reason, std::string detail) {
  Evidence item;
  item.kind = kind;
  item.what = std::move(what);
  item.measured = measured;
  item.allowed = allowed;
  item.reason = std::move(reason);
  item.detail = std::move(detail);
  if (!std::isnan(measured)) {
    item.verdict = measured <= allowed ? Verdict::holds : Verdict::violated;
  }
  return item;
}

Evidence identity(EvidenceKind kind, std::string what, Truth truth, std::string detail) {
  Evidence item;
  item.kind = kind;
  item.what = std::move(what);
  item.verdict = verdict_of(truth);
  item.reason = "an identity has no tolerance";
  item.detail = std::move(detail);
  return item;
}

Evidence reported(std::string what, double measured, std::string detail) {
  Evidence item;
  item.kind = EvidenceKind::report;
  item.what = std::move(what);
  item.verdict = Verdict::holds;
  item.measured = measured;
  item.allowed = measured;
  item.detail = std::move(detail);
  return item;
}

Verdict Examination::verdict() const {
  for (const Hypothesis& hypothesis : hypotheses) {
    if (hypothesis.met == Truth::no) return Verdict::not_applicable;
  }
  bool judged = false;
  bool undecided = false;
  for (const Hypothesis& hypothesis : hypotheses) {
    undecided = undecided || hypothesis.met == Truth::undecided;
  }
  for (const Evidence& item : evidence) {
    if (item.kind == EvidenceKind::report) continue;
    judged = true;
    if (item.verdict == Verdict::violated) return Verdict::violated;
    undecided = undecided || item.verdict != Verdict::holds;
  }
  return judged && !undecided ? Verdict::holds : Verdict::inconclusive;
}

const Evidence* Examination::tightest() const {
  const Evidence* found = nullptr;
  for (const Evidence& item : evidence) {
    const bool has_bound = item.kind != EvidenceKind::report &&
                           item.kind != EvidenceKind::symbolic && !item.reason.empty() &&
                           (item.measured != 0 || item.allowed != 0);
    if (!has_bound) continue;
    if (found == nullptr || relative_margin(item) < relative_margin(*found)) found = &item;
  }
  return found;
}

bool Finding::sound() const {
  if (verdict != Verdict::holds || controls.empty()) return false;
  for (const auto& [control, outcome] : controls) {
    if (outcome.verdict() != Verdict::violated) return false;
  }
  return true;
}

Finding check(const Statement& statement, const Setting& setting) {
  Finding finding;
  finding.statement = &statement;
  const auto begin = std::chrono::steady_clock::now();
  if (statement.needs_data && setting.data_file.empty()) {
    finding.lacks_data = true;
    finding.verdict = Verdict::not_applicable;
    finding.failure = "needs --data FILE";
    return finding;
  }
  try {
    finding.examination = statement.examine(setting, {});
    finding.verdict = finding.examination.verdict();
    for (const Control& control : statement.controls) {
      finding.controls.emplace_back(control, statement.examine(setting, control.name));
    }
  } catch (const std::invalid_argument&) {
    throw;  // the user's input, not the statement
  } catch (const std::exception& error) {
    finding.verdict = Verdict::inconclusive;
    finding.failure = error.what();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  finding.seconds = seconds.count();
  return finding;
}

}  // namespace popgrad
