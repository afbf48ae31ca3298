#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/options.hpp"
#include "commands/progress.hpp"
#include "commands/statement_choice.hpp"
#include "io/atomic_file.hpp"
#include "io/locked_file.hpp"
#include "popgrad/base/error.hpp"
#include "presenting/search_record.hpp"

namespace popgrad::cli {
namespace {

constexpr const char* where = "popgrad falsify";

/// Probability that a true statement is called falsified in one search.
constexpr double false_alarm = 1e-3;

struct FalsifyOptions {
  std::vector<std::string> patterns;
  std::string control, output;
  bool controls = false, quiet = false, same_results = false;
  double seconds = 60;
  std::size_t evaluations = 1'000'000;
  std::uint64_t seed = 1;
  int jobs = 0;
};

// What is searched: statements, or controls of them.
std::vector<SearchRecord> plan(Theories theories, const FalsifyOptions& o) {
  std::vector<SearchRecord> records;
  for (const Statement* s : matching_statements(theories, where, o.patterns)) {
    if (s->needs_data) continue;
    if (!o.controls) {
      records.push_back({s, o.control, o.seed, {}});
      continue;
    }
    for (const Control& control : s->controls)
      records.push_back({s, std::string(control.name), o.seed, {}});
  }
  if (records.empty()) {
    throw InputError(
        "popgrad falsify: none of these can be searched: they are about recorded data; see "
        "popgrad verify --data");
  }
  return records;
}

int execute(const FalsifyOptions& o, const Invocation& call) {
  std::vector<SearchRecord> records = plan(call.theories, o);
  const bool to_file = !o.output.empty();
  EarlierSearches earlier;
  std::optional<LockedFile> lock;
  if (to_file) {
    if (std::filesystem::path(o.output).extension() != ".json") {
      reject(where, "--output", o.output, "must end in .json");
    }
    check_writable(o.output);
    lock.emplace(where, o.output + ".lock", o.output);
    if (std::filesystem::exists(o.output)) {
      earlier = earlier_searches(read_own_file(o.output), o.output);
      check_versions(where, "--output", o.output, earlier.versions, this_version(), o.same_results);
    }
  }
  const auto document_of = [&](const std::vector<SearchRecord>& made) {
    return search_json(made, command_line(call), caller_of(call), earlier);
  };
  bool stopped = false;
  std::size_t done = 0;
  {
    Progress bar("falsify", o.quiet);
    for (SearchRecord& record : records) {
      SearchRequest request;
      request.control = record.control;
      request.seed = o.seed;
      request.evaluations = o.evaluations;
      request.seconds = o.seconds;
      request.false_alarm = false_alarm;
      request.jobs = o.jobs;
      request.earlier = trials_of(earlier, *record.statement, record.control, o.seed);
      request.on_progress = [&](const std::vector<Trial>& trials) {
        bar.update(static_cast<double>(done) / static_cast<double>(records.size()),
                   fmt::format("{} {} points", record.statement->id, trials.size()));
        return interrupted();
      };
      if ((stopped = interrupted())) break;
      record.result = falsify(*record.statement, request);
      ++done;
      if (to_file) {
        const std::vector<SearchRecord> made(records.begin(),
                                             records.begin() + static_cast<std::ptrdiff_t>(done));
        write_atomically(o.output, document_of(made).dump() + "\n");
      }
      if ((stopped = record.result.stopped)) break;
    }
  }
  records.resize(done);
  if (call.results != nullptr) {
    call.results->document = document_of(records).dump();
  }
  std::fputs(search_table(records, caller_of(call)).c_str(), standard_output());
  if (stopped) {
    fmt::print(standard_error(), "popgrad: interrupted{}\n",
               to_file ? fmt::format("; the same command goes on from {}", o.output)
                       : "; with -o FILE.json a search can go on");
  }
  const bool against_controls = o.controls || !o.control.empty();
  const auto falsified = std::count_if(records.begin(), records.end(), [](const SearchRecord& r) {
    return r.result.counterexample.has_value();
  });
  const int of_end = stopped ? numerical_failure : success;
  if (against_controls) {
    // Those that were not searched are not held against it.
    const bool all = falsified == std::ssize(records) || stopped;
    return combined(all ? success : violation, of_end);
  }
  if (falsified > 0) return violation;
  const bool open = std::any_of(records.begin(), records.end(), [](const SearchRecord& r) {
    return !r.result.smallest || r.result.unconfirmed > 0;
  });
  return combined(open ? undecided : success, of_end);
}

}  // namespace

Action add_falsify(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<FalsifyOptions>();
  Command* command = app.add_subcommand(
      "falsify", "search for a counterexample within the hypotheses of a statement");
  command
      ->add_option("statements", o->patterns,
                   "ids or globs such as " + example_statements(call.theories))
      .required();
  command->add_option("--control", o->control,
                      "search against this deliberately wrong version instead of the claim");
  command
      ->add_flag("--controls", o->controls, "search against every control; each is to be falsified")
      .excludes("--control");
  command->add_option("--seconds", o->seconds, Number{any_budget, "60", "seconds"},
                      "budget of each search");
  command->add_option("--evaluations", o->evaluations, Whole{within(1, 1e9), "1e6", "points"},
                      "budget of each search");
  command->add_option("--seed", o->seed, Whole{any_seed, "1"}, "fixes the points searched");
  command->add_option("--jobs", o->jobs, Whole{any_jobs, "0"},
                      "threads; results do not depend on it; 0: all cores");
  command
      ->add_option("-o,--output", o->output,
                   "record of every point, .json; if it is there, the search goes on from it")
      .kind("output file");
  add_same_results(*command, o->same_results);
  command->add_flag("-q,--quiet", o->quiet, "no progress on standard error");
  command->introduce("falsify " + example_statement(call.theories) + " --seconds 5",
                     {"--seconds", "--seed", "--control", "--controls", "--output"});
  command->footer(
      "A miss counts only if a second examination of the same instance confirms it: tighter "
      "solves, "
      "more draws from another seed, limits taken further.\n"
      "Exit status: 0 not falsified (with --control, --controls: all falsified); 1 otherwise; 3 "
      "nothing could be decided, or a miss was not confirmed.");
  return [o, call] { return execute(*o, call); };
}

}  // namespace popgrad::cli
