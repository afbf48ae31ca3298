#include "commands/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "commands/exit_status.hpp"
#include "commands/interrupt.hpp"
#include "commands/progress.hpp"
#include "commands/statement_choice.hpp"
#include "io/atomic_file.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/model.hpp"

namespace popgrad::cli {
namespace {

/// Probability that a true statement is called violated anywhere in one verification.
constexpr double false_alarm_of_all = 1e-3;

bool is_statistical(const Statement& s) {
  return std::find(s.reaches.begin(), s.reaches.end(), EvidenceKind::statistical) !=
         s.reaches.end();
}

bool is_named(const Statement& statement, const std::vector<std::string>& patterns) {
  return std::find(patterns.begin(), patterns.end(), statement.id) != patterns.end();
}

std::string model_of(const Statement& statement) {
  return statement.id.substr(0, statement.id.find('.'));
}

Finding not_examined(const Statement& statement, const std::string& why) {
  Finding finding;
  finding.statement = &statement;
  finding.verdict = Verdict::not_applicable;
  finding.failure = "not examined: " + why;
  return finding;
}

// The user's instance, of one model.
std::optional<InstanceFile> given_instance(const std::string& file,
                                           const std::vector<const Statement*>& statements) {
  if (file.empty()) return std::nullopt;
  const Statement& first = *statements.front();
  for (const Statement* s : statements) {
    if (model_of(*s) == model_of(first)) continue;
    reject("popgrad verify", "--instance", file,
           fmt::format("can be of one model only, but {} and {} were asked for", first.id, s->id));
  }
  InstanceFile given = read_instance(model_of(first), file);
  if (given.parameters.has(state_key)) {
    reject("popgrad verify", state_key, "of " + file,
           "is ignored by statements, which make their rungs themselves; leave it out");
  }
  return given;
}

// Throws InputError if the statement cannot.
void check_reads(const Statement& s, const Parameters& parameters, const std::string& file,
                 Theories theories) {
  if (s.reads.empty()) {
    reject("popgrad verify", "--instance", file,
           fmt::format("cannot be read by {}, which makes its own instances; choose them with "
                       "--set and --seed",
                       s.id));
  }
  parameters.check_names(find_model(theories, model_of(s)).parameters(), s.reads);
}

}  // namespace

std::map<std::string, double, std::less<>> chosen_knobs(
    const std::string& command, const std::vector<std::string>& texts,
    const std::vector<const Statement*>& statements) {
  std::map<std::string, double, std::less<>> chosen;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      reject(command, "--set", text, "must be KNOB=VALUE, as in --set tau=3");
    }
    const std::string name = text.substr(0, equals);
    double value = 0;
    try {
      value = from_text<double>(text.substr(equals + 1));
    } catch (const std::invalid_argument&) {
      reject(command, "--set", text, "must end in a finite number");
    }
    for (const Statement* s : statements) {
      std::vector<std::string> names;
      for (const Knob& knob : s->knobs) names.emplace_back(knob.name);
      const auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end()) {
        reject(command, "--set", text,
               fmt::format("is no knob of {}{}; it has {}", s->id, suggestion(name, names),
                           fmt::join(names, ", ")));
      }
      const Knob& knob = s->knobs[static_cast<std::size_t>(at - names.begin())];
      const bool whole = knob.spacing == Spacing::whole;
      const bool usual = value == knob.usual;
      if ((value < knob.low || value > knob.high || (whole && value != std::floor(value))) &&
          !usual) {
        reject(command, "--set", text,
               fmt::format("must be {} in [{:g}, {:g}] for {}: {}",
                           whole ? "a whole number" : "a number", knob.low, knob.high, s->id,
                           knob.meaning));
      }
    }
    chosen.insert_or_assign(name, value);
  }
  return chosen;
}

std::vector<std::string> data_files_of(const VerificationOptions& options) {
  std::vector<std::string> files;
  for (std::size_t begin = 0; begin < options.data.size();) {
    const std::size_t end = std::min(options.data.find(',', begin), options.data.size());
    files.push_back(options.data.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

void add_instance_options(Command& command, VerificationOptions& options) {
  command
      .add_option("--instance", options.instance,
                  "examine this instance (JSON, as for 'run'; see 'popgrad list ID')")
      .kind("input file");
  command.add_option("--set", options.knobs,
                     "KNOB=VALUE of the instances that a statement makes (repeatable; see 'popgrad "
                     "list')");
}

void add_survey_options(Command& command, VerificationOptions& options) {
  command.add_option(
      "--seeds", options.seeds, Whole{within(1, 1e6)},
      "drawn instances to examine: shares of verdicts, and the power of each control");
  command.add_option("--seconds", options.seconds, Number{any_budget, "600", "seconds a statement"},
                     "with --seeds: begin no instance after that long");
}

void add_verification_options(Command& command, VerificationOptions& options, Theories theories) {
  command.add_option(
      "statements", options.patterns,
      fmt::format("ids or globs such as {} (default: all)", example_statements(theories)));
  command.add_option("--data", options.data, "recorded runs (CSV) for statements on measurements")
      .kind("input files");
  const Option seed = command.add_option(
      "--seed", options.seed, Whole{any_seed},
      "fixes every random draw (default 1, or that of a file written by 'popgrad instance')");
  options.has_seed = [seed] { return seed.count() > 0; };
  command.add_option("--jobs", options.jobs, Whole{any_jobs, "0"},
                     "threads; results do not depend on it; 0: all cores");
  command.add_flag("--full", options.full, "larger samples and searches");
  command.add_flag("-q,--quiet", options.quiet, "no progress on standard error");
}

Examiner::Examiner(const VerificationOptions& options, const std::vector<const Statement*>& chosen,
                   Theories theories)
    : instance_(given_instance(options.instance, chosen)),
      instances_(options.seeds),
      seconds_(options.seconds) {
  for (const std::string& file : data_files_of(options)) static_cast<void>(read_file(file));
  const auto statistical = std::count_if(chosen.begin(), chosen.end(),
                                         [](const Statement* s) { return is_statistical(*s); });
  setting_.seed = options.seed;
  setting_.jobs = options.jobs;
  setting_.data_file = options.data;
  // One budget for the whole verification, shared evenly by those that draw.
  setting_.false_alarm =
      false_alarm_of_all / static_cast<double>(std::max<std::ptrdiff_t>(1, statistical));
  setting_.chosen = chosen_knobs("popgrad verify", options.knobs, chosen);
  if (instance_) {
    setting_.instance = &instance_->parameters;
    std::optional<InputError> of_names;
    for (const Statement* statement : chosen) {
      try {
        check_reads(*statement, instance_->parameters, options.instance, theories);
      } catch (const InputError& error) {
        if (is_named(*statement, options.patterns)) throw;
        unread_[statement] = statement->reads.empty() ? "it makes its own instances" : error.what();
        if (!of_names && !statement->reads.empty()) of_names = error;
      }
    }
    // A name that none of them reads is a slip of the file.
    if (of_names && unread_.size() == chosen.size()) throw InputError(*of_names);
    if (instance_->seed && !options.has_seed()) setting_.seed = *instance_->seed;
    for (const Statement* statement : chosen) {
      if (statement->id != instance_->statement) continue;
      of_file_ = chosen_knobs(options.instance, instance_->knobs, {statement});
    }
  }
  if (options.seeds > 0 && instance_) {
    reject("popgrad verify", "--seeds", std::to_string(options.seeds),
           "draws instances; it and --instance exclude each other");
  }
  if (options.full) setting_.effort = Effort::full;
}

double Examiner::false_alarm() const { return false_alarm_of_all; }

Finding Examiner::finding(const Statement& statement) const {
  if (const auto unread = unread_.find(&statement); unread != unread_.end()) {
    return not_examined(statement, unread->second);
  }
  Setting own = setting_;
  // Those of --set stay.
  if (instance_ && instance_->statement == statement.id) {
    own.chosen.insert(of_file_.begin(), of_file_.end());
  }
  return check(statement, own);
}

Survey Examiner::survey_of(const Statement& statement, const Report& report) const {
  SurveyRequest request;
  request.setting = setting_;
  request.instances = instances_;
  request.seconds = seconds_;
  request.on_progress = [&](std::size_t made) {
    return report(static_cast<double>(made) / static_cast<double>(instances_));
  };
  return survey(statement, request);
}

Verification verification_of(const VerificationOptions& options,
                             const std::vector<const Statement*>& chosen, const Invocation& call) {
  const Examiner examiner(options, chosen, call.theories);
  Verification v;
  v.seed = examiner.setting().seed;
  v.false_alarm = examiner.false_alarm();
  v.command = command_line(call);
  v.caller = caller_of(call);
  v.of_file = !options.instance.empty();
  std::optional<InputError> refused;
  Progress bar("verify", options.quiet);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Statement& statement = *chosen[i];
    const auto update = [&](double part) {
      bar.update((static_cast<double>(i) + part) / static_cast<double>(chosen.size()),
                 statement.id);
      return interrupted();
    };
    if (update(0)) break;
    if (options.seeds > 0) {
      Finding finding;
      finding.statement = &statement;
      finding.lacks_data = statement.needs_data && options.data.empty();
      if (finding.lacks_data) {
        v.surveys.emplace_back();
        finding.verdict = Verdict::not_applicable;
      } else {
        v.surveys.push_back(examiner.survey_of(statement, update));
        finding.verdict = verdict_of(v.surveys.back());
        finding.seconds = v.surveys.back().seconds;
      }
      v.findings.push_back(std::move(finding));
      if (v.surveys.back().stopped) break;
    } else {
      try {
        Finding finding = examiner.finding(statement);
        if (finding.cut_short) break;
        v.findings.push_back(std::move(finding));
      } catch (const InputError& error) {
        if (!v.of_file || is_named(statement, options.patterns)) throw;
        if (!refused) refused = error;
        v.findings.push_back(not_examined(statement, error.what()));
      }
    }
    ++v.finished;
  }
  const bool any = std::any_of(v.findings.begin(), v.findings.end(),
                               [](const Finding& f) { return !f.examination.hypotheses.empty(); });
  if (refused && !any) throw InputError(*refused);  // what they refuse is the file's
  return v;
}

int status_of(const std::vector<Judged>& all, const std::vector<std::string>& patterns,
              bool surveyed) {
  int status = success;
  for (const Judged& one : all) {
    const bool void_check = !surveyed && one.verdict == Verdict::holds && !one.sound;
    if (one.verdict == Verdict::violated || void_check) status = combined(status, violation);
    if (one.verdict == Verdict::inconclusive) status = combined(status, undecided);
  }
  const std::vector<std::string> everything{"*"};
  for (const std::string& pattern : patterns.empty() ? everything : patterns) {
    const bool applies = std::any_of(all.begin(), all.end(), [&](const Judged& one) {
      return matches(pattern, one.id) && one.verdict != Verdict::not_applicable;
    });
    if (!applies) status = combined(status, not_applicable);
  }
  return status;
}

int status_of(const Verification& v, const std::vector<std::string>& patterns) {
  std::vector<Judged> all;
  for (const Finding& finding : v.findings) all.push_back(judged(finding));
  return status_of(all, patterns, !v.surveys.empty());
}

}  // namespace popgrad::cli
