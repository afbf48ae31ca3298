#include "cli/verification.hpp"

#include <algorithm>

#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "io/atomic_file.hpp"

namespace popgrad::cli {
namespace {

/// Probability that a true statement is called violated anywhere in one verification.
constexpr double false_alarm_of_all = 1e-3;

bool is_statistical(const Statement& s) {
  return std::find(s.reaches.begin(), s.reaches.end(), EvidenceKind::statistical) !=
         s.reaches.end();
}

}  // namespace

void add_verification_options(Command& command, VerificationOptions& options) {
  command.add_option("statements", options.patterns,
                     "ids or globs such as 'joma.*' (default: all)");
  command.add_option("--data", options.data, "recorded runs (CSV) for statements on measurements");
  command.add_option("--seed", options.seed, "fixes every random draw (default 1)");
  command
      .add_option("--jobs", options.jobs,
                  "threads; results do not depend on it (default 0: all cores)")
      .not_negative();
  command.add_flag("--full", options.full, "larger samples and searches");
  command.add_flag("-q,--quiet", options.quiet, "no progress on standard error");
}

Verification verification_of(const VerificationOptions& options,
                             const std::vector<const Statement*>& chosen,
                             const std::string& command) {
  if (!options.data.empty())
    static_cast<void>(read_file(options.data.substr(0, options.data.find(','))));
  Verification v;
  v.seed = options.seed;
  v.false_alarm = false_alarm_of_all;
  v.command = command;
  const auto statistical = std::count_if(chosen.begin(), chosen.end(),
                                         [](const Statement* s) { return is_statistical(*s); });
  Setting setting;
  setting.seed = options.seed;
  setting.jobs = options.jobs;
  setting.data_file = options.data;
  setting.full = options.full;
  // One budget for the whole verification, shared evenly by those that draw.
  setting.false_alarm =
      false_alarm_of_all / static_cast<double>(std::max<std::ptrdiff_t>(1, statistical));
  Progress bar("verify", options.quiet);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    bar.update(static_cast<double>(i) / static_cast<double>(chosen.size()), chosen[i]->id);
    v.findings.push_back(check(*chosen[i], setting));
    if (interrupted()) break;
  }
  return v;
}

int status_of(const Verification& v) {
  bool open = false;
  for (const Finding& finding : v.findings) {
    if (finding.lacks_data) continue;
    if (finding.verdict == Verdict::violated) return violation;
    if (finding.verdict == Verdict::holds && !finding.sound()) return violation;
    open = open || finding.verdict == Verdict::inconclusive;
  }
  return open ? undecided : success;
}

}  // namespace popgrad::cli
