#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "commands/distribute.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/options.hpp"
#include "commands/panels.hpp"
#include "commands/progress.hpp"
#include "commands/shared_walks.hpp"
#include "commands/statement_choice.hpp"
#include "commands/theory_word.hpp"
#include "io/checkpoint.hpp"
#include "io/input_files.hpp"
#include "io/run_record.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/judging/compare.hpp"
#include "presenting/regime_table.hpp"
#include "presenting/verdict_table.hpp"
#include "runs/run.hpp"

namespace popgrad::cli {
namespace {

constexpr std::size_t most_events_printed = 20;

struct RunOptions {
  std::shared_ptr<CommonOptions> common;
  std::string rung, resume;
  bool correlations = false;
  bool batch_loss = false, batch_accuracy = false;
  bool same_results = false;
};

// What a run goes on from; an empty file: nothing.
struct Resumed {
  std::string file;
  Versions versions;  // that made it
};

// Has it predicted means in place of runs?
template <class T>
bool is_predicted(const RunRecord<T>& record) {
  return record.rung == "moments";
}

// How well deviations are known where the law of one draw is sampled.
void report_sampling(const Trajectory<double>& run) {
  const auto at = std::find(run.columns.begin(), run.columns.end(), "sampling");
  if (at == run.columns.end()) return;
  const auto column = static_cast<std::size_t>(at - run.columns.begin());
  double largest = 0;
  for (const std::vector<double>& row : run.rows) largest = std::max(largest, row[column]);
  fmt::print(standard_error(),
             "popgrad: the law of one draw is known from samples of it: standard deviations to "
             "{:.2g} of themselves\n",
             largest);
}

// Means and deviations that are left out, one line for each time from which on.
void report_left_out(const Trajectory<double>& run) {
  std::map<std::size_t, std::vector<std::string>> ends;
  for (std::size_t c = 0; c < run.columns.size(); ++c) {
    const auto end = std::find_if(run.rows.begin(), run.rows.end(),
                                  [c](const auto& row) { return std::isnan(row[c]); });
    if (end == run.rows.end()) continue;
    ends[static_cast<std::size_t>(end - run.rows.begin())].push_back(run.columns[c]);
  }
  for (const auto& [k, columns] : ends) {
    fmt::print(
        standard_error(),
        "popgrad: orders of the prediction differ by too much, or draws do not show a deviation, "
        "from t = {} on; left out: {}; take an ensemble there\n",
        to_text(run.t[k]), fmt::join(columns, " "));
  }
}

// The worst ending of an ensemble decides the exit status.
template <class T>
Ending worst_ending(const std::vector<Trajectory<T>>& runs) {
  Ending worst = Ending::reached_end;
  for (const Trajectory<T>& run : runs) {
    if (static_cast<int>(run.outcome.ending) > static_cast<int>(worst)) worst = run.outcome.ending;
  }
  return worst;
}

// An uncertain number has the digits that its uncertainty leaves it, another one all.
template <class T>
std::string time_with_uncertainty(const Event<T>& event) {
  if (!(event.uncertainty > 0)) return to_text(event.t);
  return with_uncertainty(to_double(event.t), event.uncertainty);
}

bool is_failure(Ending ending) {
  return ending != Ending::reached_end && ending != Ending::blew_up;
}

// Why a run did not get to its end.
template <class T>
void report_end(const RunRecord<T>& record, std::size_t k, Results* results) {
  const Outcome& outcome = record.runs[k].outcome;
  std::string why = describe(outcome.ending);
  if (outcome.ending == Ending::diverged) {
    // Of a prediction the note says all: no training diverged.
    const std::string& note = outcome.notes.back();
    why = is_predicted(record) ? note : fmt::format("{}: {}", why, note);
  }
  const auto& events = record.runs[k].events;
  const bool located = std::any_of(events.begin(), events.end(),
                                   [](const Event<T>& event) { return event.name == "blow-up"; });
  const bool blew_up = outcome.ending == Ending::blew_up;
  if (blew_up && !located) why = "a component blows up before the end";
  // The time of a blow-up is known to the digits that its event has.
  const std::string at =
      blew_up && located ? "" : fmt::format(" at t = {:.17g}", outcome.t_reached);
  const std::string line = fmt::format("popgrad: {}stopped{}: {}",
                                       record.ensemble ? fmt::format("run {}: ", k) : "", at, why);
  if (is_failure(outcome.ending)) {
    report_failure(line, results);
  } else {
    fmt::print(standard_error(), "{}\n", line);
  }
}

// The reason of status 4, which --quiet does not hide.
template <class T>
void report_failures(const RunRecord<T>& record, Results* results) {
  std::size_t failures = 0;
  for (std::size_t k = 0; k < record.runs.size(); ++k) {
    const Ending ending = record.runs[k].outcome.ending;
    // `finish` has a line for interruptions.
    if (!is_failure(ending) || ending == Ending::interrupted) continue;
    if (failures++ == 0) report_end(record, k, results);
  }
  if (failures > 1) {
    fmt::print(standard_error(), "popgrad: and {} runs more did not get to their ends\n",
               failures - 1);
  }
}

template <class T>
void report_runs(const RunRecord<T>& record, const CommonOptions& options, Results* results) {
  if (options.quiet) {
    report_failures(record, results);
    return;
  }
  for (std::size_t k = 0; k < record.runs.size(); ++k) {
    const Trajectory<T>& run = record.runs[k];
    const std::string which = record.ensemble ? fmt::format("run {}: ", k) : std::string{};
    std::size_t printed = 0;
    for (const Event<T>& event : run.events) {
      if (record.ensemble && event.name != "blow-up") continue;
      if (++printed > most_events_printed) {
        fmt::print(standard_error(), "popgrad: and {} events more; -o FILE.json has all\n",
                   run.events.size() - most_events_printed);
        break;
      }
      fmt::print(standard_error(), "popgrad: {}{} of {} at t = {}\n", which, event.name,
                 event.column, time_with_uncertainty(event));
    }
    if (run.outcome.ending != Ending::reached_end) report_end(record, k, results);
  }
  if constexpr (std::is_same_v<T, double>) {
    if (record.ensemble) {
      fmt::print(standard_error(), "{}", regime_table({{record.rung, regime_times(record.runs)}}));
    }
    if (is_predicted(record)) {
      report_sampling(record.runs.front());
      report_left_out(record.runs.front());
    }
  }
  if (record.audit) fmt::print(standard_error(), "{}", audit_table(*record.audit));
  fmt::print(standard_error(), "popgrad: made by: {}\n", record.command);
}

// Times and observables.
template <class T>
Trajectory<double> in_double(const Trajectory<T>& run) {
  Trajectory<double> made;
  made.columns = run.columns;
  for (std::size_t k = 0; k < run.t.size(); ++k) {
    made.t.push_back(to_double(run.t[k]));
    made.rows.emplace_back();
    for (const T& x : run.rows[k]) made.rows.back().push_back(to_double(x));
  }
  return made;
}

// Curves of one run; of an ensemble the mean, of a prediction what it says of the mean, with a band
// of one standard deviation.
template <class T>
void draw_run(const RunRecord<T>& record, const CommonOptions& options) {
  std::vector<Trajectory<double>> runs;
  for (const Trajectory<T>& run : record.runs) runs.push_back(in_double(run));
  Panels panels;
  panels.name = fmt::format("run-{}-{}", record.model, record.rung);
  panels.title = fmt::format("{} {}", record.model, record.rung);
  if (runs.size() > 1) {
    panels.title += fmt::format(": mean and one standard deviation of {} runs", runs.size());
  } else if (is_predicted(record)) {
    panels.title += ": mean and one standard deviation of runs of sgd, predicted";
  }
  Record settings;  // a prediction is of any number of runs
  for (const auto& [name, value] : record.settings.entries()) {
    if (!is_predicted(record) || name != "runs") settings[name] = value;
  }
  panels.caption = caption_of(record.parameters, settings, record.seed);
  panels.x_label = "t";
  panels.x = runs.front().t;
  panels.sides = {record.rung};
  const std::vector<std::string>& columns = runs.front().columns;
  for (const std::string& column : columns) {
    if (column.ends_with("_sd")) continue;
    Band spread = band(runs, column);
    if (std::find(columns.begin(), columns.end(), column + "_sd") != columns.end()) {
      spread.deviation = curve(runs.front(), column + "_sd");
      panels.curves.push_back({with_band(spread.mean, spread.deviation)});
    } else {
      panels.curves.push_back({curve_of(spread)});
    }
    panels.observables.push_back(column);
  }
  draw_panels(panels, options.plot, record.command, record.seed);
}

// Where an interrupted run is saved: with its output, else in the file that it went on from, else in this
// folder or, where that cannot be written, the one for temporary files.
std::filesystem::path checkpoint_of(const CommonOptions& options, const std::string& name,
                                    const Resumed& resumed) {
  if (!options.output.empty() && options.output != "-") {
    return options.output + ".checkpoint.json";
  }
  if (!resumed.file.empty()) return resumed.file;
  std::error_code none;
  for (const auto& folder : {std::filesystem::path(), std::filesystem::temp_directory_path(none)}) {
    std::filesystem::path made = new_checkpoint(folder, name);
    if (!made.empty()) return made;
  }
  throw std::runtime_error(
      "interrupted, and nothing is saved: neither this folder nor TMPDIR can be written");
}

template <class T>
void save(const RunRecord<T>& record, const CommonOptions& options, const Invocation& call,
          const Resumed& resumed) {
  const std::filesystem::path checkpoint =
      checkpoint_of(options, fmt::format("popgrad-{}-{}", record.model, record.rung), resumed);
  write_checkpoint(
      Checkpoint<T>{{call.words, files_read(), united(record.earlier_versions, this_version())},
                    record.runs},
      checkpoint);
  Invocation again{{"run", "--resume", checkpoint.string()}, call.theories, call.program};
  if (!options.output.empty()) {
    again.words.insert(again.words.end(), {"-o", options.output});
  }
  fmt::print(standard_error(), "popgrad: interrupted; what was computed is saved. Go on with: {}\n",
             command_line(again));
}

template <class T>
int finish(RunRecord<T> record, const CommonOptions& options, const Invocation& call,
           const Resumed& resumed) {
  const bool handed_over = call.results != nullptr;
  if (!options.output.empty() || (options.plot.empty() && !handed_over)) {
    write_record(record, options.output, standard_output());
  }
  report_runs(record, options, call.results);
  if (!options.plot.empty()) draw_run(record, options);
  const Ending worst = worst_ending(record.runs);
  if (handed_over) {
    if constexpr (std::is_same_v<T, double>) {
      call.results->run = std::move(record);
    } else {
      call.results->run_in_digits = std::move(record);
    }
  } else if (worst == Ending::interrupted) {
    save(record, options, call, resumed);
  }
  return is_failure(worst) ? numerical_failure : success;
}

// Refuses --correlations where it does not apply, before anything is computed.
void check_correlations(const CommonOptions& options, const RungInfo& info) {
  const auto refuse = [&](const std::string& why) {
    throw InputError("popgrad run: --correlations " + why);
  };
  if (info.kind != RungKind::moments) {
    refuse(
        fmt::format("has no meaning for the rung '{}'; it is predicted with moments", info.name));
  }
  if (!options.output.ends_with(".json")) {
    refuse("is written only to JSON; give -o FILE.json, and --save few rows");
  }
  if (options.end == "inf") refuse("is between times; give --t1 a number");
}

template <class T>
RunRequest<T> request_of(const RunOptions& options, const Model& model, const RungInfo& info,
                         const Parameters& parameters) {
  const CommonOptions& common = *options.common;
  RunRequest<T> request{&model, info, parameters, common.seed};
  request.at_rest = info.kind == RungKind::moments && common.end == "inf";
  CommonOptions timed = common;
  if (request.at_rest) timed.end.clear();
  if (std::is_same_v<T, double> && walks(info)) {
    request.walk = walk_request(timed, info);
    request.walk->jobs = threads_of_process(common.jobs);
    request.walk->sampled.loss = options.batch_loss;
    request.walk->sampled.accuracy = options.batch_accuracy;
  } else {
    request.solve = solve_request<T>(timed, info, parameters);
  }
  request.digits = common.digits;
  request.optimiser = common.optimiser;
  request.spread_to_blow_up = common.end.empty() && common.save_at.empty();
  request.states = common.states;
  request.events = !common.no_events;
  request.correlations = options.correlations;
  return request;
}

template <class T>
int run_in(const RunOptions& options, const Model& model, const RungInfo& info,
           const Parameters& parameters, const Invocation& call, const Resumed& resumed) {
  RunRequest<T> request = request_of<T>(options, model, info, parameters);
  request.earlier_file = resumed.file;
  if (!resumed.file.empty()) request.earlier = read_checkpoint<T>(resumed.file).runs;
  RunRecord<T> record;
  record.model = model.name();
  record.rung = info.name;
  record.parameters = parameters.values();
  record.command = command_line(call);
  record.seed = request.seed;
  record.earlier_versions = resumed.versions;
  {
    Progress bar(model.name() + " " + info.name, options.common->quiet);
    const Report report = [&](double done) {
      bar.update(done);
      return interrupted();
    };
    RunResult<T>& result = record;
    if constexpr (std::is_same_v<T, double>) {
      const MakeWalks make = [&](const Walker& walker, const WalkRequest& asked) {
        return walks_of_processes(walker, asked, report);
      };
      result = run_rung(request, make, report);
    } else {
      result = run_rung(request, report);
    }
  }
  if (record.runs.empty()) return success;
  const bool curtailed = record.curtailed;
  if (curtailed) {
    fmt::print(standard_error(),
               "popgrad: interrupted; what is computed from the rows is left out\n");
  }
  const int status = finish(std::move(record), *options.common, call, resumed);
  return curtailed ? numerical_failure : status;
}

int execute(const Command& command, const RunOptions& options, const Invocation& call,
            const Resumed& resumed) {
  const CommonOptions& common = *options.common;
  const Model& model = find_model(common.theories, common.model);
  const RungInfo& info = find_rung(model, options.rung);
  check_meaning(command, info);
  check_output(common.output);
  if (options.correlations) check_correlations(common, info);
  const bool ensemble = info.kind == RungKind::random && common.runs.value_or(1) > 1;
  // Without an ensemble only the first of several processes works, and only it goes on with what was interrupted.
  if (process_rank() > 0 && (!ensemble || !resumed.file.empty())) return success;
  const Parameters parameters = gather_parameters(common, model, info.name);
  if (common.digits <= 16) {
    return run_in<double>(options, model, info, parameters, call, resumed);
  }
  const DigitsScope scope(static_cast<unsigned>(common.digits));
  return run_in<Real>(options, model, info, parameters, call, resumed);
}

// `run` with its options, whose targets are in `options`.
Command* declare(CommandLine& app, const Invocation& call, RunOptions& options) {
  using enum OptionGroup;
  Command* command = app.add_subcommand("run", "one trajectory, or an ensemble for random rungs");
  command->add_option("model", example_model(call.theories));
  command->add_option("rung", options.rung, "rung of the model");
  options.common = add_common_options(*command, call,
                                      {law, seed, clock, runs, save, save_at, solver, digits, jobs,
                                       states, events, sampled, output, quiet});
  command
      ->add_option("--resume", options.resume,
                   "go on from the checkpoint of an interrupted run, with its options")
      .kind("input file");
  add_same_results(*command, options.same_results);
  command
      ->add_flag(
          "--batch-loss", options.batch_loss,
          "sgd: a column batch_loss, the mean loss of the minibatch of the next step before it, "
          "in units of the loss")
      .read_by("random");
  command
      ->add_flag("--batch-accuracy", options.batch_accuracy,
                 "sgd: a column batch_accuracy, the share of right answers of that minibatch")
      .read_by("random");
  command->add_flag("--correlations", options.correlations,
                    "moments: correlations over runs between all observables at all rows, in -o "
                    "FILE.json");
  return command;
}

// Throws InputError for what the checkpoint has the last word on.
void refuse_beside_resume(const Command& command) {
  for (const std::string& name : command.long_names()) {
    const std::optional<Option> option = command.find_option("--" + name);
    if (name == "resume" || name == "output" || name == "quiet" || name == "same-results" ||
        name == "memory" || !option || option->count() == 0) {
      continue;
    }
    throw InputError(fmt::format(
        "popgrad run: --{} cannot be given with --resume, which goes on with the options "
        "of the interrupted run; leave it out",
        name));
  }
  for (const char* name : {"model", "rung"}) {
    if (command.get_option(name).count() == 0) continue;
    reject("popgrad run", name, command.get_option(name).as<std::string>(),
           "cannot be given with --resume, which goes on with that of the interrupted run");
  }
}

// Parses the words of the interrupted run again and goes on from its checkpoint.
int resume_run(const RunOptions& asked, const Invocation& again) {
  const std::string& file = asked.resume;
  const CheckpointOrigin origin = checkpoint_origin(file);
  check_versions("popgrad run", "--resume", file, origin.versions, this_version(),
                 asked.same_results);
  begin_reading(origin.files);
  const TheoriesOfWords chosen(
      {origin.words, again.theories, again.program, again.host, again.results});
  const Invocation& call = chosen.call();
  CommandLine app{"", "popgrad"};
  RunOptions options;
  Command* command = declare(app, call, options);
  for (const char* name : {"model", "rung"}) command->get_option(name).required();
  add_memory_option(*command);
  app.parse(call.words);
  options.common->model = command->get_option("model").as<std::string>();
  apply_config(*command, *options.common);
  if (!asked.common->output.empty()) options.common->output = asked.common->output;
  options.common->quiet = options.common->quiet || asked.common->quiet;
  return execute(*command, options, call, {file, origin.versions});
}

}  // namespace

Action add_run(CommandLine& app, const Invocation& call) {
  auto options = std::make_shared<RunOptions>();
  Command* command = declare(app, call, *options);
  command->introduce("run " + example_rung(call.theories) + " --t1 20 -o -",
                     {"--instance", "--t1", "--eta", "--runs", "--output"});
  command->footer(
      "'popgrad run MODEL --help' lists the parameters of the model too.\n"
      "Under mpirun (a build with POPGRAD_MPI) the first process gives out the runs of an ensemble "
      "and the others make them, with one thread each unless --jobs says more.");
  return [command, options, call]() -> int {
    if (!options->resume.empty()) {
      refuse_beside_resume(*command);
      return resume_run(*options, call);
    }
    if (options->same_results) {
      reject("popgrad run", "--same-results", "given", "belongs to --resume; leave it out");
    }
    if (command->get_option("model").count() == 0 || options->rung.empty()) {
      throw InputError("popgrad run: model and rung are missing; e.g. popgrad run " +
                       example_rung(call.theories));
    }
    options->common->model = command->get_option("model").as<std::string>();
    apply_config(*command, *options->common);
    return execute(*command, *options, call, {});
  };
}

}  // namespace popgrad::cli
