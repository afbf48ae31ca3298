#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "commands/distribute.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/progress.hpp"
#include "commands/statement_choice.hpp"
#include "commands/sweep_grid.hpp"
#include "commands/sweep_picture.hpp"
#include "commands/sweep_rows.hpp"
#include "commands/sweep_shard.hpp"
#include "commands/sweep_table.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/rung.hpp"

namespace popgrad::cli {
namespace {

constexpr std::int64_t most_runs = 10'000'000;  // of an ensemble
constexpr std::int64_t blocks_of_runs = 100;    // by default, at most

struct SweepOptions {
  std::shared_ptr<CommonOptions> common;
  std::string rung, shard;
  std::vector<std::string> over, success, first;
  double until_width = 0;
  std::optional<std::int64_t> most_runs;
  bool same_results = false;
};

// Of the cells that were refused, why.
using Refusals = std::map<std::size_t, std::string>;
// Between the axes of a cell and why it was refused, where a row would have its fields.
constexpr char refusal_mark = '\x1F';

Conditions conditions_of(const SweepOptions& o) {
  Conditions conditions;
  for (const std::string& text : o.success) {
    conditions.success.push_back(condition_of("--success", text));
  }
  for (const std::string& text : o.first) {
    conditions.first.push_back(condition_of("--first", text));
  }
  return conditions;
}

// Throws InputError for what makes no sense together.
Replication replication_of(const Command& command, const SweepOptions& o, const RungInfo& info) {
  const Option width = command.get_option("--until-width");
  const Option most = command.get_option("--most-runs");
  if (width.count() == 0) {
    if (most.count() > 0) {
      reject(popgrad_sweep, "--most-runs", most.as<std::string>(),
             "belongs to --until-width; without it --runs says how many");
    }
    return {};
  }
  const std::string given = width.as<std::string>();
  if (info.kind != RungKind::random) {
    reject(popgrad_sweep, "--until-width", given,
           fmt::format("has no meaning for the rung '{}': nothing in it is random", info.name));
  }
  if (o.success.empty()) {
    reject(popgrad_sweep, "--until-width", given,
           "needs --success COLUMN<=VALUE: it is the share of successes that has the interval");
  }
  const std::int64_t at_a_time = o.common->runs.value_or(1);
  if (at_a_time < 2) {
    reject(popgrad_sweep, "--until-width", given,
           "needs --runs R with R >= 2, the runs made at a time");
  }
  const std::int64_t limit = o.most_runs.value_or(std::min(most_runs, blocks_of_runs * at_a_time));
  if (limit < at_a_time) {
    reject(popgrad_sweep, "--most-runs", std::to_string(limit),
           fmt::format("must be from --runs {} to {}", at_a_time, most_runs));
  }
  return {o.until_width, limit};
}

// Where rows are kept: in files, or for standard output and a picture in memory.
SweepRows open_rows(const SweepOptions& o, const Invocation& call, std::size_t cells,
                    const std::optional<Shard>& shard) {
  const std::string& output = o.common->output;
  if (output.empty() || output == "-") return SweepRows(cells);
  const SweepNote note = note_of_words(call.words, shard, cells);
  if (!shard) return {popgrad_sweep, output, note, cells, o.same_results};
  return {popgrad_sweep, shard->file(output), note, shard->cells(cells), o.same_results};
}

// Those that an axis names, such as texts.
void note_files(const SweepGrid& grid, const Model& model) {
  for (const Axis& axis : grid.axes()) {
    for (const ParameterInfo& info : model.parameters()) {
      if (info.name != axis.name || info.kind != "text") continue;
      for (const std::string& value : axis.values) note_file(value);
    }
  }
}

// The first cell that is not refused; where all are, what is wrong is not of a cell.
CommonOptions first_possible(const SweepGrid& grid, const RungInfo& info,
                             const CommonOptions& common, const Model& model,
                             const Conditions& conditions) {
  std::optional<InputError> first;
  for (std::size_t k = 0; k < grid.cells(); ++k) {
    try {
      CommonOptions cell = grid.options_of(k, common);
      check_cell(info, cell, model, conditions);
      return cell;
    } catch (const InputError& refused) {
      if (!first) first = refused;
    }
  }
  throw InputError(*first);
}

// Says which cells have no result, quiet or not: they are the reason of the status.
int status_of_cells(const SweepRows& rows, const Refusals& refusals, Results* results) {
  const std::vector<std::string> failed = failed_cells(rows.text());
  if (failed.empty()) return success;
  constexpr std::size_t most_listed = 10;
  const std::size_t listed = std::min(failed.size(), most_listed);
  report_failure(
      fmt::format(
          "popgrad: {} of {} cells have no result (ended 0): {}{}", failed.size(), rows.cells(),
          fmt::join(failed.begin(), failed.begin() + static_cast<std::ptrdiff_t>(listed), "; "),
          listed < failed.size() ? "; ..." : ""),
      results);
  if (!refusals.empty()) {
    fmt::print(standard_error(), "popgrad: {} of them were refused, the first by: {}\n",
               refusals.size(), refusals.begin()->second);
  }
  return numerical_failure;
}

int execute(const Command& command, const SweepOptions& o, const Invocation& call) {
  CommonOptions common = *o.common;
  const Model& model = find_model(common.theories, common.model);
  const RungInfo& info = find_rung(model, o.rung);
  const SweepGrid grid(o.over, command, model);
  std::vector<std::string> axes;
  for (const Axis& axis : grid.axes()) axes.push_back(axis.name);
  check_meaning(command, info, axes);
  const Replication replication = replication_of(command, o, info);
  const Conditions conditions = conditions_of(o);
  if (!common.plot.empty()) check_drawable(grid.axes());
  const bool to_file = !common.output.empty() && common.output != "-";
  if (to_file && std::filesystem::path(common.output).extension() != ".csv") {
    reject(popgrad_sweep, "--output", common.output, "must end in .csv, or be -");
  }
  std::optional<Shard> shard;
  if (!o.shard.empty()) {
    shard = shard_from(o.shard);
    if (!to_file) {
      reject(popgrad_sweep, "--shard", o.shard,
             "needs -o FILE.csv: 'popgrad merge' finds shards by its name");
    }
    if (note_of_words(call.words, shard, 0).words == call.words) {
      reject(popgrad_sweep, "--shard", o.shard,
             "belongs on the command line, not into --config, which all shards share");
    }
    if (!common.plot.empty()) {
      reject(popgrad_sweep, "--shard", o.shard,
             "has no picture; leave out --plot, and draw the whole after 'popgrad merge'");
    }
  }
  common.jobs = threads_of_process(common.jobs);
  const auto cell_at = [&](std::size_t k) { return shard ? shard->cell(k) : k; };
  const Compute compute = [&](std::size_t k, const Report& report) -> std::optional<std::string> {
    std::string row;
    for (const std::string& value : grid.values_of(cell_at(k))) row += value + ",";
    try {
      const std::optional<std::string> fields =
          row_of(info, grid.options_of(cell_at(k), common), model, conditions, replication, report);
      if (!fields) return std::nullopt;
      return row + *fields;
    } catch (const InputError& refused) {
      return row + refusal_mark + refused.what();
    } catch (const Stopped&) {
      return std::nullopt;
    }
  };
  if (process_rank() > 0) {
    serve(compute);
    return success;
  }

  // All files are read once before, since the note of the rows states their contents.
  note_files(grid, model);
  const CommonOptions first = first_possible(grid, info, common, model, conditions);
  const Parameters parameters = gather_parameters(first, model, info.name);
  SweepRows rows = open_rows(o, call, grid.cells(), shard);
  if (!common.quiet && rows.done() > 0) {
    fmt::print(standard_error(), "popgrad: {} of {} cells are there already\n", rows.done(),
               rows.cells());
  }
  if (rows.header().empty()) {
    const bool ensemble = info.kind == RungKind::random && common.runs.value_or(1) > 1;
    rows.set_header(header_of(grid.axes(), conditions,
                              columns_of(model, info, parameters, first.seed), ensemble));
  }
  std::vector<std::size_t> missing;
  for (std::size_t k = 0; k < rows.cells(); ++k) {
    if (!rows.has(k)) missing.push_back(k);
  }
  const bool to_output = common.output == "-" || (common.output.empty() && common.plot.empty());
  std::size_t printed = 0;
  Refusals refusals;
  const Keep keep = [&](std::size_t k, const std::string& made) {
    const std::size_t mark = made.find(refusal_mark);
    if (mark == std::string::npos) {
      rows.keep(k, made);
    } else {
      refusals.emplace(k, made.substr(mark + 1));
      rows.keep(k, refused_row(made.substr(0, mark), rows.header()));
    }
    // In the order of cells, whichever comes first.
    for (; to_output && printed < rows.cells() && rows.has(printed); ++printed) {
      if (printed == 0) fmt::print(standard_output(), "{}", rows.header());
      fmt::print(standard_output(), "{}\n", rows.row(printed));
    }
  };
  Progress bar("sweep", common.quiet);
  const auto before = static_cast<double>(rows.done());
  const auto cells = static_cast<double>(rows.cells());
  const bool whole = distribute(missing, compute, keep, [&](double share) {
    bar.update((before + share * (cells - before)) / cells);
    return interrupted();
  });
  if (call.results != nullptr) call.results->table = rows.text();
  if (!whole) {
    if (to_file) {
      rows.save();
      fmt::print(standard_error(),
                 "popgrad: interrupted after {} of {} cells; the same command goes on\n",
                 rows.done(), rows.cells());
    } else {
      fmt::print(standard_error(),
                 "popgrad: interrupted after {} of {} cells; with -o FILE.csv a sweep can go on\n",
                 rows.done(), rows.cells());
    }
    return numerical_failure;
  }
  rows.finish();
  if (!common.plot.empty())
    draw_sweep(rows.text(), grid.axes(), common, o.rung, command_line(call));
  const int status = status_of_cells(rows, refusals, call.results);
  if (common.quiet) return status;
  if (replication.width > 0) {
    const WideCells wide = wide_cells(rows.text(), replication);
    if (wide.count > 0) {
      fmt::print(standard_error(),
                 "popgrad: {} of {} cells stopped at --most-runs {} with an interval wider than "
                 "{}, the first at {}\n",
                 wide.count, rows.cells(), replication.most, replication.width, wide.first);
    }
  }
  fmt::print(standard_error(), "popgrad: made by: {}\n", command_line(call));
  return status;
}

}  // namespace

Action add_sweep(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<SweepOptions>();
  Command* command = app.add_subcommand(
      "sweep", "a rung over a grid of parameters: where runs end, and how many succeed");
  command->add_option("model", "model (see 'popgrad list')").required();
  command->add_option("rung", o->rung, "rung of the model").required();
  using enum OptionGroup;
  o->common =
      add_common_options(*command, call, {law, seed, clock, runs, solver, jobs, output, quiet},
                         "one row a cell, as .csv; - is standard output");
  command
      ->add_option(
          "--over", o->over,
          "axis NAME=v,v,... or NAME=LOW:HIGH:COUNT, equally spaced in the logarithm; a parameter "
          "of the model, eta, batch, steps, t1 or seed (repeatable)")
      .allow_extra_args(false);
  command
      ->add_option("--success", o->success,
                   "COLUMN<=VALUE or COLUMN>=VALUE at the end of a run: adds the share of runs "
                   "that meet it, of an ensemble with its 95 % interval (Wilson) (repeatable)")
      .allow_extra_args(false);
  command
      ->add_option(
          "--first", o->first,
          "COLUMN<=VALUE or COLUMN>=VALUE: adds the first time at which a run meets this (all of "
          "them, if repeated), to a thousandth of its length, and the number of runs that do "
          "(repeatable)")
      .allow_extra_args(false);
  command->add_option(
      "--until-width", o->until_width,
      Number{Range{.low = least_positive, .high = 1, .without_high = true}},
      "add runs, --runs at a time, until the 95 % interval of the share of --success is no wider "
      "than this; as it stops by its own width, it covers 93 to 99 % (90 % near 0 or 1)");
  command->add_option("--most-runs", o->most_runs, Whole{within(2, 1e7)},
                      "of a cell with --until-width (default 100 times --runs)");
  command->add_option("--shard", o->shard,
                      "I/N: only the cells I, I + N, ... (counted from 1), into "
                      "NAME.I-of-N.csv; 'popgrad merge NAME.csv' puts them together");
  add_same_results(*command, o->same_results);
  command->introduce("sweep " + example_rung(call.theories) + " --over t1=5,10,20 -o sweep.csv",
                     {"--over", "--success", "--runs", "--instance", "--output"});
  command->footer(
      "A sweep that was interrupted goes on when the same command is given again.\n"
      "As an array of N Slurm jobs, sbatch --array=0-(N-1): --shard $((SLURM_ARRAY_TASK_ID + "
      "1))/$SLURM_ARRAY_TASK_COUNT.\n"
      "Under mpirun (a build with POPGRAD_MPI) the first process gives out cells and the others "
      "compute them, with one thread each unless --jobs says more.");
  return [command, o, call]() -> int {
    o->common->model = command->get_option("model").as<std::string>();
    apply_config(*command, *o->common);
    return execute(*command, *o, call);
  };
}

}  // namespace popgrad::cli
