#include "evidence/confirming.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>

#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/refinement.hpp"

namespace popgrad {
namespace {

/// Level of the second examination's draws; with the first at no more than it, a chance miss passes
/// both with 1e-6.
constexpr double false_alarm_of_confirmation = 1e-3;

void judge_once(Finding& finding, const Setting& setting, const Examine& examine) {
  Examination& found = finding.examination;
  try {
    examine(setting, found);
  } catch (const Stopped&) {
    finding.cut_short = true;
  } catch (const std::invalid_argument& error) {
    // An ensemble that was stopped early may be too small for its moments.
    const bool of_user = setting.instance != nullptr || !setting.data_file.empty();
    if (of_user && !stop_asked()) throw;
    found.hypotheses.push_back({"an instance at this point", Truth::no, error.what(),
                                Basis::evaluated, std::numeric_limits<double>::quiet_NaN()});
  } catch (const std::exception& error) {
    finding.failure = words_of(error);
  }
  finding.cut_short = finding.cut_short || stop_asked();
  if (finding.cut_short) {
    finding.verdict = Verdict::inconclusive;
    finding.failure = "stopped before it was decided";
  } else if (found.broken() != nullptr) {
    finding.verdict = Verdict::not_applicable;
  } else {
    finding.verdict = finding.failure.empty() ? found.verdict() : Verdict::inconclusive;
  }
}

// Whether more draws could decide it.
bool undecided_by_draws(const Finding& finding) {
  if (finding.cut_short || finding.verdict != Verdict::inconclusive) return false;
  return std::ranges::any_of(finding.examination.evidence, [](const Evidence& item) {
    return item.kind == EvidenceKind::statistical && item.verdict == Verdict::inconclusive;
  });
}

// The same comparison in the second examination; nullptr if it was not made again.
const Evidence* again(const Evidence& item, std::size_t index, const Examination& second) {
  if (index < second.evidence.size() && second.evidence[index].what == item.what) {
    return &second.evidence[index];
  }
  for (const Evidence& other : second.evidence) {
    if (other.what == item.what) return &other;
  }
  return nullptr;
}

std::string too_small(const Evidence& item, double apart) {
  const std::string part =
      item.largest_part.empty() ? "the error" : fmt::format("error part '{}'", item.largest_part);
  if (!(item.allowed > 0)) return fmt::format("{} is not 0, off by {:.2g}", part, apart);
  return fmt::format("{} was {:.2g} times too small", part, apart / item.allowed);
}

// Why a miss was not seen again, and what would decide it.
std::string why_unconfirmed(const Evidence& item, const Evidence& second) {
  const double apart = std::fabs(item.deviation - second.deviation);
  std::string why;
  if (second.verdict == Verdict::inconclusive) {
    why = "the second examination could not decide it";
  } else if (apart > item.allowed) {
    why = too_small(item, apart);
  } else {
    why = fmt::format("not seen again: {:.3g}, allowed {:.3g}", second.measured, second.allowed);
  }
  const bool sampled = item.kind == EvidenceKind::statistical;
  return fmt::format("{}: missed by {:.3g}, allowed {:.3g}; {}; {} would decide it", item.what,
                     item.measured, item.allowed, why, sampled ? "--full" : "more digits");
}

void compare_with(const Finding& second, Finding& finding) {
  Confirmation& confirmation = finding.confirmation;
  const bool usable = second.verdict != Verdict::not_applicable && second.failure.empty();
  for (std::size_t i = 0; i < finding.examination.evidence.size(); ++i) {
    Evidence& item = finding.examination.evidence[i];
    if (item.kind == EvidenceKind::report || item.verdict != Verdict::violated) continue;
    const Evidence* other = usable ? again(item, i, second.examination) : nullptr;
    if (other == nullptr) {
      item.verdict = Verdict::inconclusive;
      confirmation.faults.push_back(
          fmt::format("{}: missed, and not measured again: {}", item.what,
                      !second.failure.empty() ? second.failure
                      : usable                ? "the second examination makes no such comparison"
                               : "in the second examination a hypothesis is not met"));
      continue;
    }
    const bool same_sign = item.deviation * other->deviation >= 0;
    if (other->verdict != Verdict::violated || !same_sign) {
      item.verdict = Verdict::inconclusive;
      confirmation.faults.push_back(why_unconfirmed(item, *other));
      continue;
    }
    confirmation.confirmed = true;
    const double apart = std::fabs(item.deviation - other->deviation);
    if (apart > item.allowed + other->allowed) {
      confirmation.faults.push_back(
          fmt::format("{}: violated, and {}", item.what, too_small(item, apart)));
    }
    item = *other;
  }
}

}  // namespace

void judge_with_confirmation(Finding& finding, const Setting& given, const Examine& examine,
                             bool confirm) {
  Setting setting = given;
  judge_once(finding, setting, examine);
  if (setting.effort == Effort::search && undecided_by_draws(finding)) {
    setting.effort = Effort::usual;
    finding.examination = {};
    finding.failure.clear();
    judge_once(finding, setting, examine);
  }
  if (!confirm || finding.verdict != Verdict::violated) return;
  Setting sharper = setting;
  sharper.false_alarm = false_alarm_of_confirmation;
  sharper.with_controls = false;
  Finding second;
  Sharper sharper_measurements = everything_sharper;
  sharper_measurements.digits = given.effort != Effort::search;  // a search has no time for it
  const Refinement refinement(sharper_measurements);
  judge_once(second, sharper, examine);
  if (second.cut_short) {
    finding.cut_short = true;
    finding.verdict = Verdict::inconclusive;
    finding.failure = second.failure;
    return;
  }
  finding.confirmation.attempted = true;
  finding.confirmation.refined = refinement.made();
  compare_with(second, finding);
  finding.verdict = finding.examination.verdict();
}

}  // namespace popgrad
