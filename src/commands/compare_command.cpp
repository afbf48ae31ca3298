#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "commands/compare_parts.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/options.hpp"
#include "commands/panels.hpp"
#include "commands/progress.hpp"
#include "commands/statement_choice.hpp"
#include "io/atomic_file.hpp"
#include "io/run_record.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/judging/compare.hpp"
#include "presenting/regime_table.hpp"
#include "presenting/result_table.hpp"
#include "runs/run.hpp"

namespace popgrad::cli {
namespace {

struct Side {
  RungInfo info;
  std::vector<Trajectory<double>> runs;
};

// What separates a random rung from the flow, cause by cause. Throws Stopped before it prints.
void print_error_budget(const CommonOptions& all_options, const Model& model,
                        const RungInfo& random, const RungInfo& flow, const Parameters& parameters,
                        const std::vector<Trajectory<double>>& samples,
                        const std::vector<double>& times, const Report& report) {
  const CommonOptions options = without_events(all_options);
  CommonOptions steps = options;
  steps.runs.reset();
  steps.batch.reset();
  RungInfo descent = random;
  const std::set<std::string> own = rungs_of_training(model, random.name);
  for (const RungInfo& info : model.rungs()) {
    if (info.kind == RungKind::descent && (own.empty() || own.contains(info.name))) descent = info;
  }
  const auto made = [&](const CommonOptions& own, const RungInfo& rung, const Parameters& given,
                        double tolerance_factor) {
    return uninterrupted(produce(own, model, rung, given, times, tolerance_factor, report));
  };
  const auto plain = made(steps, flow, parameters, 1.0).front();
  const auto sharper = made(steps, flow, parameters, 1e-2).front();
  const auto full_batch = made(steps, descent, parameters, 1.0).front();
  // The law itself, where a parameter keeps the samples away from it.
  std::vector<Trajectory<double>> laws;
  std::string kept_from_limit = "length";
  for (const ParameterInfo& info : model.parameters()) {
    if (info.limit.empty()) continue;
    kept_from_limit = info.name;
    if (parameters.number<double>(info.name, info.limit) == from_text<double>(info.limit)) continue;
    Parameters endless = parameters;
    endless.set(info.name, info.limit);
    laws = made(options, random, endless, 1.0);
    break;
  }
  ResultTable table({words("observable", 28), numbers("solver", 12, ".3g"),
                     numbers("step size", 12, ".3g"), numbers("batch noise", 12, ".3g"),
                     numbers("finite " + kept_from_limit, 14)});
  const auto has = [](const Trajectory<double>& run, const std::string& column) {
    return std::find(run.columns.begin(), run.columns.end(), column) != run.columns.end();
  };
  for (const std::string& column : plain.columns) {
    if (!has(full_batch, column) || !has(samples.front(), column)) continue;
    const std::vector<double> reference = curve(plain, column);
    const double solver = distance(column, times, reference, curve(sharper, column)).largest;
    const double step = distance(column, times, curve(full_batch, column), reference).largest;
    const Band spread = band(samples, column);
    const double noise = *std::max_element(spread.deviation.begin(), spread.deviation.end());
    std::string finite = "0 (exact law)";
    if (!laws.empty()) {
      finite = fmt::format("{:.3g}",
                           distance(column, times, spread.mean, band(laws, column).mean).largest);
    }
    table.add(column, solver, step,
              samples.size() > 1 ? fmt::format("{:.3g}", noise) : "--runs >= 2", finite);
  }
  fmt::print(standard_output(), "\nerror budget (largest over the save points)\n{}", table.text());
}

// Keeps the first rows, that all runs of both sides have; the second side may have none.
void keep_common_rows(Side& a, Side& b) {
  std::size_t rows = a.runs.front().t.size();
  for (const Side* side : {&a, &b}) {
    for (const Trajectory<double>& run : side->runs) rows = std::min(rows, run.t.size());
  }
  for (Side* side : {&a, &b}) {
    for (Trajectory<double>& run : side->runs) {
      run.t.resize(rows);
      run.rows.resize(rows);
    }
  }
}

int compare_rungs(const Command& command, const CompareOptions& options, const Invocation& call) {
  const CommonOptions& common = *options.common;
  const Model& model = find_model(common.theories, common.model);
  Side a{find_rung(model, options.first), {}};
  Side b{find_rung(model, options.second), {}};
  check_output(common.output);
  // The random side, or the one with steps, fixes the clock.
  if (!walks(a.info) && walks(b.info)) std::swap(a, b);
  if (!walks(a.info)) check_meaning(command, a.info);
  const Parameters parameters = gather_parameters(common, model, {a.info.name, b.info.name});
  Progress bar("compare " + model.name(), common.quiet);
  const Report report = [&](double done) {
    bar.update(done);
    return interrupted();
  };
  a.runs = produce(common, model, a.info, parameters, {}, 1.0, report);
  bool stopped = was_interrupted(a.runs);
  if (!stopped) {
    b.runs = produce(common, model, b.info, parameters, a.runs.front().t, 1.0, report);
    stopped = was_interrupted(b.runs);
  }
  if (stopped) {
    keep_common_rows(a, b);
    if (a.runs.front().t.empty()) throw Stopped{};
  } else if (const int status =
                 std::max(status_of(a.runs, call.results), status_of(b.runs, call.results));
             status != success) {
    return status;
  }
  const std::vector<double> times = a.runs.front().t;
  const bool both = !b.runs.empty();
  std::vector<std::string> common_columns;
  for (const std::string& column : a.runs.front().columns) {
    const auto& other = both ? b.runs.front().columns : a.runs.front().columns;
    if (std::find(other.begin(), other.end(), column) != other.end())
      common_columns.push_back(column);
  }
  RunRecord<double> record;
  record.model = model.name();
  record.rung = a.info.name + " against " + b.info.name;
  record.parameters = parameters.values();
  record.command = command_line(call);
  record.seed = common.seed;
  Trajectory<double> table;
  table.t = times;
  table.rows.resize(times.size());
  const bool to_stdout = common.output == "-";
  const bool shown = both && !to_stdout;
  ResultTable distances({words("observable", 28), numbers("largest", 12, ".4g"),
                         numbers("at t", 12, ".6g"), numbers("relative", 12, ".4g"),
                         numbers("rms", 12, ".4g"), numbers("std. error", 12)});
  Panels panels;
  for (const std::string& column : common_columns) {
    const Band left = band(a.runs, column);
    const Band right = both ? band(b.runs, column) : left;
    panels.observables.push_back(column);
    panels.curves.push_back({curve_of(left), curve_of(right)});
    const Distance d = distance(column, times, left.mean, right.mean);
    const double error = left.deviation.empty()
                             ? 0
                             : *std::max_element(left.deviation.begin(), left.deviation.end()) /
                                   std::sqrt(static_cast<double>(left.runs));
    distances.add(column, d.largest, d.time_of_largest, d.relative, d.root_mean_square,
                  left.runs > 1 ? fmt::format("{:.3g}", error) : "");
    for (const auto& [side, values] :
         {std::pair{a.info.name, &left}, std::pair{b.info.name, &right}}) {
      if (values == &right && !both) continue;
      table.columns.push_back(fmt::format("{}_{}", column, side));
      for (std::size_t k = 0; k < times.size(); ++k) table.rows[k].push_back(values->mean[k]);
    }
    if (left.runs > 1) {
      table.columns.push_back(fmt::format("{}_{}_deviation", column, a.info.name));
      for (std::size_t k = 0; k < times.size(); ++k) table.rows[k].push_back(left.deviation[k]);
    }
  }
  if (shown) {
    fmt::print(standard_output(), "{} {} against {}, {} save points to t = {:.6g}{}\n{}",
               model.name(), a.info.name, b.info.name, times.size(), times.back(),
               a.runs.size() > 1 ? fmt::format(", mean of {} runs", a.runs.size()) : "",
               distances.text());
    const std::string regimes =
        regime_table({{a.info.name, regime_times(a.runs)}, {b.info.name, regime_times(b.runs)}});
    if (!regimes.empty()) fmt::print(standard_output(), "\n{}", regimes);
  }
  bool budget_left_out = false;
  if (shown && !stopped && a.info.kind == RungKind::random && b.info.kind == RungKind::flow) {
    try {
      print_error_budget(common, model, a.info, b.info, parameters, a.runs, times, report);
    } catch (const Stopped&) {
      budget_left_out = true;
    }
  }
  record.sides = {side_of(common, a.info, parameters, a.runs)};
  if (both) record.sides.push_back(side_of(common, b.info, parameters, b.runs));
  if (both && !common.plot.empty()) {
    panels.name = fmt::format("compare-{}-{}-{}", model.name(), a.info.name, b.info.name);
    panels.title = fmt::format(
        "{}: {} against {}{}", model.name(), a.info.name, b.info.name,
        a.runs.size() > 1 || b.runs.size() > 1 ? ", mean and one standard deviation of runs" : "");
    panels.caption = caption_of(record.parameters, record.sides.front().settings, record.seed);
    panels.x_label = "t";
    panels.x = times;
    panels.sides = {a.info.name, b.info.name};
    draw_panels(panels, common.plot, record.command, record.seed);
  }
  record.runs = {std::move(table)};
  if (!common.output.empty()) write_record(record, common.output, standard_output());
  if (call.results != nullptr) call.results->run = std::move(record);
  if (!stopped && !budget_left_out) return success;
  if (budget_left_out) {
    fmt::print(standard_error(),
               "popgrad: interrupted; the comparison is whole, its error budget is left out\n");
  } else {
    fmt::print(standard_error(),
               "popgrad: interrupted; kept: {} to t = {:.6g}; the same command begins anew\n",
               both ? "both rungs" : a.info.name + ", before " + b.info.name, times.back());
  }
  return numerical_failure;
}

}  // namespace

Action add_compare(CommandLine& app, const Invocation& call) {
  auto options = std::make_shared<CompareOptions>();
  Command* command = app.add_subcommand(
      "compare", "two rungs on one clock, or a rung against a run recorded elsewhere");
  command->add_option("model", example_model(call.theories)).required();
  command->add_option("first", options->first, "a rung").required();
  command->add_option("second", options->second, "another rung (or --with FILE)");
  using enum OptionGroup;
  options->common = add_common_options(
      *command, call,
      {law, seed, clock, runs, save, save_at, solver, jobs, events, sampled, output, quiet});
  command
      ->add_list("--with", options->with,
                 "recorded runs: CSV, TSV, JSON lines (also .gz) or .npz, several by commas")
      .kind("input files");
  command->add_list("--map", options->map,
                    "OBSERVABLE=COLUMN,..., t=COLUMN for the time; OBSERVABLE=~REGEX for the one "
                    "column whose name matches; OBSERVABLE=FORMULA over columns, such as "
                    "loss=bits*log(2). Of columns that are "
                    "named only these are judged, else all with the name of an observable");
  command->add_list("--group", options->group, "columns that distinguish recorded runs");
  command->add_flag("--runs-in-columns", options->runs_in_columns,
                    "every column RUN - METRIC is of a run, and METRIC its name for --map and "
                    "--clock, as in a chart that W&B exports");
  command->add_option("--restarts", options->restarts,
                      Choice{{"refuse", "keep-last", "keep-first", "new-run"}, "refuse"},
                      "what to do where the time of a run jumps back, as in the log of a resumed "
                      "run: refuse it, keep "
                      "the last or the first rows of a time, or read what follows as a new run");
  command->add_option(
      "--clock", options->clock,
      "time of a row as learning rate * steps: a formula over the columns such as 'lr*step' or "
      "'`optim/lr` * step' (names between backticks), or a factor of the time column; without it a "
      "factor is "
      "fitted and nothing is judged");
  command->add_option("--level", options->level, Number{within(1e-9, 0.5), "1e-3"},
                      "false-alarm probability: that runs of the same law are found to depart");
  command->add_option(
      "--resolution", options->resolution, Number{within(0, 0.1), "1e-6"},
      "precision of the recorded numbers, relative to the largest of a column; unless "
      "given, coarser digits of the numbers as written count");
  command->add_list(
      "--suspect", options->suspects,
      "settings to test first: eta, batch, momentum, numbers or choices of the model, by "
      "commas. They get nine tenths of the level, so that smaller changes of them are found; "
      "learning rate, batch, label noise, temperature, the rate of attention relative to the "
      "rest and the place of the query are always tested; all: every number of the model");
  command->add_flag(
      "--fresh-starts", options->fresh_starts,
      "draw the start of every run of the ensemble anew, for recorded runs with random starts");
  command->add_flag(
      "--ensemble", options->ensemble,
      "judge by sampled runs even where the law of a run is predicted; 64 runs, or --runs, which "
      "implies this option");
  command->add_flag("--no-fit", options->no_fit,
                    "do not search for settings that explain runs that depart");
  command->add_flag(
      "--details", options->details,
      "of recorded runs: every test, run and observable, regimes, and how well the other "
      "rungs explain the runs");
  command->add_flag("--no-ladder", options->no_ladder,
                    "with --details: do not try the other rungs");
  command->introduce("compare " + example_rungs(call.theories) + " --t1 20",
                     {"--with", "--map", "--clock", "--instance", "--details"});
  return [command, options, call]() -> int {
    options->common->model = command->get_option("model").as<std::string>();
    apply_config(*command, *options->common);
    if (options->second.empty() == options->with.empty()) {
      throw InputError("popgrad compare: give either a second rung or --with FILE");
    }
    if (options->with.empty() || options->clock.empty()) {
      refuse_options(*command, {"--averaged", "--held-out", "--smoothed"},
                     "is of recorded runs that are judged: give --with and --clock");
    }
    return options->with.empty() ? compare_rungs(*command, *options, call)
                                 : compare_with_recorded(*command, *options, call);
  };
}

}  // namespace popgrad::cli
