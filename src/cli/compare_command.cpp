#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/produce.hpp"
#include "cli/progress.hpp"
#include "io/atomic_file.hpp"
#include "io/run_record.hpp"
#include "io/table.hpp"
#include "popgrad/compare.hpp"
#include "popgrad/error.hpp"

namespace popgrad::cli {
namespace {

struct CompareOptions {
  std::shared_ptr<CommonOptions> common;
  std::string first, second, with, clock;
  std::vector<std::string> map, group;
};

bool walks(const RungInfo& info) {
  return info.kind == RungKind::random || info.kind == RungKind::descent;
}

// Parameters that either rung reads.
Parameters shared_parameters(const CommonOptions& options, const Model& model,
                             const std::vector<RungInfo>& rungs) {
  std::vector<ParameterInfo> known = model.parameters();
  Json values = Json::object();
  for (const RungInfo& rung : rungs) {
    // One of them has to accept each name; an error of the last one is the one to tell.
    CommonOptions one = options;
    try {
      return gather_parameters(one, model, rung.name);
    } catch (const InputError&) {
      if (&rung != &rungs.back()) continue;
      // Neither reads all: accept names that at least one reads.
      Json file = Json::object();
      if (!options.instance.empty()) {
        file = parse_json_keeping_digits(read_file(options.instance), options.instance);
      }
      CommonOptions bare = options;
      bare.instance.clear();
      for (ParameterInfo& info : known) {
        const bool read = std::any_of(rungs.begin(), rungs.end(), [&](const RungInfo& r) {
          return info.rungs.empty() ||
                 std::find(info.rungs.begin(), info.rungs.end(), r.name) != info.rungs.end();
        });
        if (read) info.rungs.clear();
      }
      Parameters merged(model.name(), file);
      for (const auto& [name, text] : options.flags) merged.set(name, text);
      for (const auto& [name, on] : options.switches) merged.set(name, on);
      merged.check_names(known, rung.name);
      return merged;
    }
  }
  return Parameters(model.name(), values);
}

struct Side {
  RungInfo info;
  std::vector<Trajectory<double>> runs;
};

std::vector<Trajectory<double>> produce(const CommonOptions& options, const Model& model,
                                        const RungInfo& info, const Parameters& parameters,
                                        const std::vector<double>& times, double tolerance_factor,
                                        const Report& report) {
  const AnyRung<double> rung = model.rung(info.name, parameters, options.seed);
  if (walks(info)) {
    return produce_walks(rung, walk_request(options, info), {}, report);
  }
  SolveRequest<double> request = solve_request<double>(options, info);
  if (!times.empty()) {
    request.save_at = times;
    request.end = times.back();
  }
  request.relative_tolerance *= tolerance_factor;
  request.absolute_tolerance *= tolerance_factor;
  request.find_events = false;
  return {produce_flow<double>(rung, info, request, false, nullptr, report)};
}

int status_of(const std::vector<Trajectory<double>>& runs) {
  for (const Trajectory<double>& run : runs) {
    if (run.outcome.ending != Ending::reached_end) {
      fmt::print(stderr, "popgrad: a run stopped at t = {:.6g}: {}\n", run.outcome.t_reached,
                 describe(run.outcome.ending));
      return numerical_failure;
    }
  }
  return success;
}

// What separates a random rung from the flow, cause by cause.
void print_error_budget(const CommonOptions& options, const Model& model, const RungInfo& random,
                        const RungInfo& flow, const Parameters& parameters,
                        const std::vector<Trajectory<double>>& samples,
                        const std::vector<double>& times, const Report& report) {
  CommonOptions steps = options;
  steps.runs.reset();
  steps.batch.reset();
  RungInfo descent = random;
  for (const RungInfo& info : model.rungs()) {
    if (info.kind == RungKind::descent) descent = info;
  }
  const auto plain = produce(steps, model, flow, parameters, times, 1.0, report).front();
  const auto sharper = produce(steps, model, flow, parameters, times, 1e-2, report).front();
  const auto full_batch = produce(steps, model, descent, parameters, times, 1.0, report).front();
  const long length = parameters.count("length", 0, 0, 100'000'000);
  std::vector<Trajectory<double>> laws;
  if (length > 0) {
    Parameters endless = parameters;
    endless.set("length", "0");
    laws = produce(options, model, random, endless, times, 1.0, report);
  }
  fmt::print("\nerror budget (largest over the save points)\n{:<28} {:>12} {:>12} {:>12} {:>14}\n",
             "observable", "solver", "step size", "batch noise", "finite length");
  for (const std::string& column : plain.columns) {
    const std::vector<double> reference = curve(plain, column);
    const double solver = distance(column, times, reference, curve(sharper, column)).largest;
    const double step = distance(column, times, curve(full_batch, column), reference).largest;
    const Band spread = band(samples, column);
    const double noise = *std::max_element(spread.deviation.begin(), spread.deviation.end());
    std::string finite = "0 (exact law)";
    if (length > 0) {
      finite = fmt::format("{:.3g}",
                           distance(column, times, spread.mean, band(laws, column).mean).largest);
    }
    fmt::print("{:<28} {:>12.3g} {:>12.3g} {:>12} {:>14}\n", column, solver, step,
               samples.size() > 1 ? fmt::format("{:.3g}", noise) : "--runs >= 2", finite);
  }
}

int compare_rungs(const CLI::App& command, const CompareOptions& options, const Words& words) {
  const CommonOptions& common = *options.common;
  const Model& model = find_model(common.model);
  Side a{find_rung(model, options.first), {}};
  Side b{find_rung(model, options.second), {}};
  if (common.digits > 16) {
    reject("popgrad compare", "--digits", std::to_string(common.digits),
           "is for 'run'; distances are in double");
  }
  check_output(common.output);
  // The random side, or the one with steps, fixes the clock.
  if (!walks(a.info) && walks(b.info)) std::swap(a, b);
  if (!walks(a.info)) check_meaning(command, a.info);
  const Parameters parameters = shared_parameters(common, model, {a.info, b.info});
  Progress bar("compare " + model.name(), common.quiet);
  const Report report = [&](double done) {
    bar.update(done);
    return interrupted();
  };
  a.runs = produce(common, model, a.info, parameters, {}, 1.0, report);
  const std::vector<double> times = a.runs.front().t;
  b.runs = produce(common, model, b.info, parameters, times, 1.0, report);
  if (const int status = std::max(status_of(a.runs), status_of(b.runs)); status != success) {
    return status;
  }
  std::vector<std::string> common_columns;
  for (const std::string& column : a.runs.front().columns) {
    const auto& other = b.runs.front().columns;
    if (std::find(other.begin(), other.end(), column) != other.end())
      common_columns.push_back(column);
  }
  RunRecord<double> record;
  record.model = model.name();
  record.rung = a.info.name + " against " + b.info.name;
  record.parameters = parameters.json();
  record.command = command_line(words);
  record.seed = common.seed;
  Trajectory<double> table;
  table.t = times;
  table.rows.resize(times.size());
  const bool to_stdout = common.output == "-";
  if (!to_stdout) {
    fmt::print(
        "{} {} against {}, {} save points to t = {:.6g}{}\n{:<28} {:>12} {:>12} {:>12} {:>12} "
        "{:>12}\n",
        model.name(), a.info.name, b.info.name, times.size(), times.back(),
        a.runs.size() > 1 ? fmt::format(", mean of {} runs", a.runs.size()) : "", "observable",
        "largest", "at t", "relative", "rms", "std. error");
  }
  for (const std::string& column : common_columns) {
    const Band left = band(a.runs, column);
    const Band right = band(b.runs, column);
    const Distance d = distance(column, times, left.mean, right.mean);
    const double error = left.deviation.empty()
                             ? 0
                             : *std::max_element(left.deviation.begin(), left.deviation.end()) /
                                   std::sqrt(static_cast<double>(left.runs));
    if (!to_stdout) {
      fmt::print("{:<28} {:>12.4g} {:>12.6g} {:>12.4g} {:>12.4g} {:>12}\n", column, d.largest,
                 d.time_of_largest, d.relative, d.root_mean_square,
                 left.runs > 1 ? fmt::format("{:.3g}", error) : "");
    }
    for (const auto& [side, values] :
         {std::pair{a.info.name, &left}, std::pair{b.info.name, &right}}) {
      table.columns.push_back(fmt::format("{}_{}", column, side));
      for (std::size_t k = 0; k < times.size(); ++k) table.rows[k].push_back(values->mean[k]);
    }
    if (left.runs > 1) {
      table.columns.push_back(fmt::format("{}_{}_deviation", column, a.info.name));
      for (std::size_t k = 0; k < times.size(); ++k) table.rows[k].push_back(left.deviation[k]);
    }
  }
  if (!to_stdout && a.info.kind == RungKind::random && b.info.kind == RungKind::flow) {
    print_error_budget(common, model, a.info, b.info, parameters, a.runs, times, report);
  }
  record.runs = {std::move(table)};
  if (!common.output.empty()) write_record(record, common.output);
  return success;
}

// `name=column` pairs.
std::map<std::string, std::string> mapping(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> map;
  for (const std::string& pair : pairs) {
    const std::size_t at = pair.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == pair.size()) {
      reject("popgrad compare", "--map", pair, "must be OBSERVABLE=COLUMN, e.g. t=step");
    }
    map[pair.substr(0, at)] = pair.substr(at + 1);
  }
  return map;
}

int compare_with_file(const CLI::App& command, const CompareOptions& options) {
  const CommonOptions& common = *options.common;
  const Model& model = find_model(common.model);
  const RungInfo info = find_rung(model, options.first);
  check_meaning(command, info);
  const Table table = read_table(options.with);
  std::map<std::string, std::string> map = mapping(options.map);
  const Parameters parameters = gather_parameters(common, model, info.name);
  Progress bar("compare " + model.name(), common.quiet);
  const Report report = [&](double done) {
    bar.update(done);
    return interrupted();
  };
  CommonOptions dense = common;
  if (!common.save && common.save_at.empty()) dense.save = 2001;
  const std::vector<Trajectory<double>> runs =
      produce(dense, model, info, parameters, {}, 1.0, report);
  if (const int status = status_of(runs); status != success) return status;
  const std::vector<double>& times = runs.front().t;
  // Columns that carry an observable's own name need no map.
  for (const std::string& column : runs.front().columns) {
    const bool there =
        std::find(table.names.begin(), table.names.end(), column) != table.names.end();
    if (there && !map.contains(column)) map[column] = column;
  }
  if (!map.contains("t")) map["t"] = "t";
  const std::vector<double>& recorded_t = table.column(map.at("t"), options.with);
  std::vector<std::pair<std::string, std::string>> observables;
  for (const auto& [name, column] : map) {
    if (name == "t") continue;
    const auto& known = runs.front().columns;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      reject("popgrad compare", "--map", name,
             "is not an observable of this rung" + suggestion(name, known));
    }
    observables.emplace_back(name, column);
  }
  if (observables.empty()) {
    reject("popgrad compare", "--map", "",
           "names no observable; e.g. --map t=step,attention_entropy=entropy");
  }
  double clock = 0;
  if (!options.clock.empty()) {
    try {
      clock = from_text<double>(options.clock);
    } catch (const std::invalid_argument&) {
      reject("popgrad compare", "--clock", options.clock, "must be a number > 0");
    }
    if (!(clock > 0)) reject("popgrad compare", "--clock", options.clock, "must be > 0");
  }
  // Rows by group, in the order of first appearance.
  std::vector<std::pair<std::vector<double>, std::vector<std::size_t>>> groups;
  std::map<std::vector<double>, std::size_t> index;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::vector<double> key;
    for (const std::string& name : options.group)
      key.push_back(table.column(name, options.with)[row]);
    const auto [at, fresh] = index.try_emplace(key, groups.size());
    if (fresh) groups.emplace_back(key, std::vector<std::size_t>{});
    groups[at->second].second.push_back(row);
  }
  fmt::print("{} {} against {}: {} rows in {} groups; computed time = factor * recorded time, {}\n",
             model.name(), info.name, options.with, table.rows(), groups.size(),
             clock > 0 ? "factor given" : "factor fitted to each group");
  for (const std::string& name : options.group) fmt::print("{:>10} ", name);
  fmt::print("{:<20} {:>6} {:>11} {:>11} {:>11} {:>11} {:>12}\n", "observable", "rows", "factor",
             "rms", "largest", "at recorded", "correlation");
  for (const auto& [key, rows] : groups) {
    for (const auto& [name, column] : observables) {
      const std::vector<double>& values = table.column(column, options.with);
      std::vector<double> t;
      std::vector<double> y;
      for (const std::size_t row : rows) {
        if (std::isnan(values[row]) || std::isnan(recorded_t[row])) continue;
        if (!t.empty() && recorded_t[row] < t.back()) {
          reject(options.with, map.at("t"), fmt::format("{:.6g}", recorded_t[row]),
                 "goes back in time within a group; name the columns that tell runs apart with "
                 "--group");
        }
        t.push_back(recorded_t[row]);
        y.push_back(values[row]);
      }
      if (t.size() < 3 || !(t.back() > 0)) continue;
      const std::vector<double> computed = band(runs, name).mean;
      const ClockFit fit =
          clock > 0 ? deviation_at(clock, times, computed, t, y) : fit_clock(times, computed, t, y);
      for (const double part : key) fmt::print("{:>10.6g} ", part);
      fmt::print("{:<20} {:>6} {:>11.4g} {:>11.4g} {:>11.4g} {:>11.6g} {:>12.4f}\n", name, t.size(),
                 fit.factor, fit.root_mean_square, fit.largest, fit.time_of_largest,
                 fit.correlation);
    }
  }
  return success;
}

}  // namespace

Action add_compare(CLI::App& app, const Words& words) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "two rungs on one clock, or a rung against a run recorded elsewhere");
  command->add_option("model", "joma (see 'popgrad list')")->required();
  command->add_option("first", options->first, "a rung")->required();
  command->add_option("second", options->second, "another rung (or --with FILE)");
  options->common = add_common_options(*command, words);
  command->add_option("--with", options->with, "recorded run: .csv, .npz or .jsonl");
  command->add_option("--map", options->map, "OBSERVABLE=COLUMN,..., t=COLUMN for the time")
      ->delimiter(',');
  command->add_option("--group", options->group, "columns that tell recorded runs apart")
      ->delimiter(',');
  command->add_option("--clock", options->clock,
                      "computed time per recorded time, > 0 (default: fitted to each group)");
  return [command, options, words]() -> int {
    options->common->model = command->get_option("model")->as<std::string>();
    apply_config(*command, *options->common);
    if (options->second.empty() == options->with.empty()) {
      throw InputError("popgrad compare: give either a second rung or --with FILE");
    }
    return options->with.empty() ? compare_rungs(*command, *options, words)
                                 : compare_with_file(*command, *options);
  };
}

}  // namespace popgrad::cli
