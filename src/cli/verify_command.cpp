#include <fmt/format.h>

#include <cstdio>

#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "cli/statement_choice.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/error.hpp"
#include "report/verdict_table.hpp"

#include "cli/commands.hpp"

namespace popgrad::cli {
namespace {

/// Probability that a true statement is called violated anywhere in one verification.
constexpr double false_alarm_of_all = 1e-3;

struct VerifyOptions {
  std::vector<std::string> patterns;
  std::string json, latex, data;
  std::uint64_t seed = 1;
  int jobs = 0;
  bool full = false, details = false, quiet = false;
};

bool is_statistical(const Statement& s) {
  return std::find(s.reaches.begin(), s.reaches.end(), EvidenceKind::statistical) !=
         s.reaches.end();
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

int execute(const VerifyOptions& options, const Words& words) {
  const std::vector<const Statement*> chosen =
      matching_statements("popgrad verify", options.patterns);
  for (const std::string& file : {options.json, options.latex}) {
    if (!file.empty() && file != "-") check_writable(file);
  }
  if (!options.data.empty())
    static_cast<void>(read_file(options.data.substr(0, options.data.find(','))));
  Verification v;
  v.seed = options.seed;
  v.false_alarm = false_alarm_of_all;
  v.command = command_line(words);
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
  bool stopped = false;
  {
    Progress bar("verify", options.quiet);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      bar.update(static_cast<double>(i) / static_cast<double>(chosen.size()), chosen[i]->id);
      v.findings.push_back(check(*chosen[i], setting));
      if ((stopped = interrupted())) break;
    }
  }
  const bool json_to_stdout = options.json == "-";
  if (!options.json.empty()) {
    const std::string text = verdict_json(v).dump(1) + "\n";
    if (json_to_stdout) {
      std::fputs(text.c_str(), stdout);
    } else {
      write_atomically(options.json, text);
    }
  }
  if (!options.latex.empty()) {
    if (options.latex == "-") {
      std::fputs(verdict_latex(v).c_str(), stdout);
    } else {
      write_atomically(options.latex, verdict_latex(v));
    }
  }
  if (!json_to_stdout && options.latex != "-") {
    std::fputs(verdict_table(v).c_str(), stdout);
    if (options.details) std::fputs(verdict_details(v).c_str(), stdout);
  }
  if (stopped) {
    fmt::print(stderr, "popgrad: interrupted after {} of {} statements; go on with: popgrad verify",
               v.findings.size(), chosen.size());
    for (std::size_t i = v.findings.size(); i < chosen.size(); ++i) {
      fmt::print(stderr, " {}", chosen[i]->id);
    }
    fmt::print(stderr, "\n");
    return numerical_failure;
  }
  return status_of(v);
}

}  // namespace

Action add_verify(CLI::App& app, const Words& words) {
  auto o = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app.add_subcommand("verify", "verdicts on statements, each with its controls");
  command->add_option("statements", o->patterns, "ids or globs such as 'joma.*' (default: all)");
  command->add_option("--json", o->json, "write the findings as JSON (- is standard output)");
  command->add_option("--latex", o->latex, "write the table for a paper (- is standard output)");
  command->add_option("--data", o->data, "recorded runs (CSV) for statements on measurements");
  command->add_option("--seed", o->seed, "fixes every random draw (default 1)");
  command
      ->add_option("--jobs", o->jobs, "threads; results do not depend on it (default 0: all cores)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--full", o->full, "larger samples and searches");
  command->add_flag("--details", o->details, "every piece of evidence with its bound and reason");
  command->add_flag("-q,--quiet", o->quiet, "no progress on standard error");
  return [o, words] { return execute(*o, words); };
}

}  // namespace popgrad::cli
