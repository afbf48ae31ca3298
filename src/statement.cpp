#include "popgrad/statement.hpp"

#include <chrono>
#include <cmath>
#include <exception>
#include <limits>

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

double relative_margin(const Evidence& item) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (item.kind == EvidenceKind::report || item.verdict == Verdict::inconclusive) return none;
  // An identity measures nothing: its truth is all there is.
  if (item.measured == 0 && item.allowed == 0) return item.verdict == Verdict::holds ? 1 : -1;
  const double scale = std::fabs(item.allowed) > 0 ? std::fabs(item.allowed) : 1.0;
  return (item.allowed - item.measured) / scale;
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
  bool undecided = false;
  for (const Hypothesis& hypothesis : hypotheses) {
    if (hypothesis.met == Truth::no) return Verdict::not_applicable;
    undecided = undecided || hypothesis.met == Truth::undecided;
  }
  const Verdict worst = conclusion();
  return worst == Verdict::holds && undecided ? Verdict::inconclusive : worst;
}

Verdict Examination::conclusion() const {
  bool judged = false;
  bool undecided = false;
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

const Evidence* Examination::nearest_to_failing() const {
  const Evidence* found = nullptr;
  for (const Evidence& item : evidence) {
    const double margin = relative_margin(item);
    if (std::isnan(margin)) continue;
    if (found == nullptr || margin < relative_margin(*found)) found = &item;
  }
  return found;
}

double Setting::value(const Knob& knob) const {
  const auto found = chosen.find(knob.name);
  return found == chosen.end() ? knob.usual : found->second;
}

Index Setting::count(const Knob& knob) const {
  return static_cast<Index>(std::lround(value(knob)));
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
