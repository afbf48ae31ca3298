#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/options.hpp"
#include "cli/panels.hpp"
#include "cli/produce.hpp"
#include "cli/progress.hpp"
#include "io/atomic_file.hpp"
#include "io/table.hpp"
#include "popgrad/error.hpp"
#include "popgrad/statistics.hpp"

namespace popgrad::cli {
namespace {

constexpr const char* where = "popgrad sweep";
constexpr std::size_t most_cells = 1'000'000;
constexpr std::size_t times_watched = 1001;  // by --first
constexpr double uncovered = 0.05;           // of the intervals of success

struct Axis {
  std::string name;
  std::vector<std::string> values;
};

// NAME=v,v,... or NAME=LOW:HIGH:COUNT, spread evenly in the logarithm.
Axis axis_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    reject(where, "--over", text, "must be NAME=v,v,... or NAME=LOW:HIGH:COUNT");
  }
  Axis axis{text.substr(0, equals), {}};
  const auto split = [](const std::string& whole, char mark) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = whole.find(mark, begin);
      parts.push_back(whole.substr(begin, end - begin));
      if (end == std::string::npos) return parts;
      begin = end + 1;
    }
  };
  const auto number = [&](const std::string& part) {
    try {
      return from_text<double>(part);
    } catch (const std::invalid_argument&) {
      reject(where, "--over", text, fmt::format("'{}' is not a number", part));
    }
  };
  const std::vector<std::string> range = split(text.substr(equals + 1), ':');
  if (range.size() == 3) {
    const double low = number(range[0]);
    const double high = number(range[1]);
    const double count = number(range[2]);
    if (!(low > 0 && low < high) || !(count >= 2 && count <= 10'000) ||
        count != std::floor(count)) {
      reject(where, "--over", text, "needs 0 < LOW < HIGH and COUNT from 2 to 10000");
    }
    for (int i = 0; i < static_cast<int>(count); ++i) {
      const double value = low * std::pow(high / low, i / (count - 1));
      axis.values.push_back(fmt::format("{:.6g}", i == 0                             ? low
                                                  : i + 1 == static_cast<int>(count) ? high
                                                                                     : value));
    }
    return axis;
  }
  axis.values = split(text.substr(equals + 1), ',');
  return axis;
}

// Values of the axis of a picture.
double number_of(const std::string& axis, const std::string& value) {
  try {
    return from_text<double>(value);
  } catch (const std::invalid_argument&) {
    reject(where, "--over " + axis, value,
           "is not a number; with --plot the first axis is that of the picture");
  }
}

// COLUMN<=VALUE or COLUMN>=VALUE, of the last row of a run.
struct Condition {
  std::string column;
  bool at_most = true;
  double bound = 0;
};

Condition condition_of(const char* option, const std::string& text) {
  Condition made;
  std::size_t at = text.find("<=");
  if (at == std::string::npos) {
    at = text.find(">=");
    made.at_most = false;
  }
  if (at == std::string::npos || at == 0) {
    reject(where, option, text, "must be COLUMN<=VALUE or COLUMN>=VALUE");
  }
  made.column = text.substr(0, at);
  try {
    made.bound = from_text<double>(text.substr(at + 2));
  } catch (const std::invalid_argument&) {
    reject(where, option, text, "has no number behind it");
  }
  return made;
}

struct SweepOptions {
  std::shared_ptr<CommonOptions> common;
  std::string rung;
  std::vector<std::string> over, success, first;
};

// Options of the walk or the solve that can be axes as well.
bool set_option(CommonOptions& o, const std::string& name, const std::string& value) {
  if (name == "eta") {
    o.step_size = value;
  } else if (name == "t1") {
    o.end = value;
  } else if (name == "batch" || name == "steps" || name == "seed") {
    double number = -1;
    try {
      number = std::round(from_text<double>(value));
    } catch (const std::invalid_argument&) {
      reject(where, "--over " + name, value, "is not a number");
    }
    // Whole numbers up to here are exact.
    if (!(number >= 0 && number <= 1e15)) {
      reject(where, "--over " + name, value, "must be a whole number from 0 to 1e15");
    }
    if (name == "batch") o.batch = static_cast<std::int64_t>(number);
    if (name == "steps") o.steps = static_cast<std::int64_t>(number);
    if (name == "seed") o.seed = static_cast<std::uint64_t>(number);
  } else {
    return false;
  }
  return true;
}

// Observables of the cells, one a condition. Throws InputError for a name that is none.
std::vector<std::size_t> columns_of(const std::vector<Condition>& conditions, const char* option,
                                    const std::string& rung,
                                    const std::vector<std::string>& columns) {
  std::vector<std::size_t> found;
  for (const Condition& c : conditions) {
    const auto at = std::find(columns.begin(), columns.end(), c.column);
    if (at == columns.end()) {
      reject(where, option, c.column,
             fmt::format("is not an observable of {}{}", rung, suggestion(c.column, columns)));
    }
    found.push_back(static_cast<std::size_t>(at - columns.begin()));
  }
  return found;
}

bool meets(const std::vector<double>& row, const std::vector<Condition>& conditions,
           const std::vector<std::size_t>& columns) {
  for (std::size_t k = 0; k < conditions.size(); ++k) {
    const double value = row[columns[k]];
    const bool good =
        conditions[k].at_most ? value <= conditions[k].bound : value >= conditions[k].bound;
    if (!good) return false;
  }
  return true;
}

// Of sorted numbers, linear between neighbours; an infinite neighbour makes it infinite.
double quantile_of(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double share = at - static_cast<double>(below);
  if (share == 0) return sorted[below];
  return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

// Nothing for what is not finite.
std::string field(double x) { return std::isfinite(x) ? fmt::format(",{:.17g}", x) : ","; }

// 5 %, 50 % and 95 % of them; nothing of none.
std::string quantile_fields(std::vector<double> numbers) {
  if (numbers.empty()) return ",,,";
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (const double p : {0.05, 0.5, 0.95}) text += field(quantile_of(numbers, p));
  return text;
}

struct Conditions {
  std::vector<Condition> success, first;
};

// One cell: over its runs the share that succeeds, when the conditions of --first were met first, and
// the observables at the end.
std::string row_of(const SweepOptions& o, const CommonOptions& cell, const Model& model,
                   const RungInfo& info, const Conditions& conditions, const Report& report,
                   bool& interrupted_here) {
  const Parameters p = gather_parameters(cell, model, info.name);
  const AnyRung<double> rung = model.rung(info.name, p, cell.seed);
  const auto success_columns = columns_of(conditions.success, "--success", o.rung, rung.columns);
  const auto first_columns = columns_of(conditions.first, "--first", o.rung, rung.columns);
  const bool watched = !conditions.first.empty();
  std::vector<Trajectory<double>> runs;
  if (walks(info)) {
    WalkRequest request = walk_request(cell, info);
    request.save_steps = {request.steps};
    if (watched) request.save_steps = evenly_spread_steps(request.steps, times_watched);
    runs = produce_walks(rung, request, {}, report);
  } else {
    SolveRequest<double> request = solve_request<double>(cell, info);
    request.save_at = {request.end};
    if (watched) request.save_at = equally_spaced(0.0, request.end, times_watched);
    runs = {produce_flow<double>(rung, info, request, false, nullptr, report)};
  }
  std::size_t successes = 0;
  std::size_t reached = 0;
  std::vector<std::vector<double>> ends(rung.columns.size());
  std::vector<double> first_times;
  for (const Trajectory<double>& run : runs) {
    interrupted_here = interrupted_here || run.outcome.ending == Ending::interrupted;
    double first = INFINITY;
    for (std::size_t k = 0; watched && k < run.rows.size() && std::isinf(first); ++k) {
      if (meets(run.rows[k], conditions.first, first_columns)) first = run.t[k];
    }
    reached += std::isinf(first) ? 0 : 1;
    first_times.push_back(first);
    if (!run.outcome.usable() || run.rows.empty()) continue;
    const std::vector<double>& row = run.rows.back();
    successes += meets(row, conditions.success, success_columns) ? 1 : 0;
    for (std::size_t c = 0; c < ends.size(); ++c) ends[c].push_back(row[c]);
  }
  const bool ensemble = runs.size() > 1;
  std::string text =
      fmt::format("{},{}", runs.size(), ends.empty() ? runs.size() : ends.front().size());
  const auto share_of = [&](std::size_t count) {
    const Share share =
        wilson_interval(static_cast<double>(count), static_cast<double>(runs.size()), uncovered);
    text += fmt::format(",{},{:.17g}", count, share.value);
    if (ensemble) text += fmt::format(",{:.17g},{:.17g}", share.low, share.high);
  };
  if (!conditions.success.empty()) share_of(successes);
  if (watched) {
    share_of(reached);
    text += ensemble ? quantile_fields(first_times) : field(first_times.front());
  }
  for (const std::vector<double>& values : ends) {
    if (!ensemble) {
      text += values.empty() ? "," : field(values.front());
      continue;
    }
    double mean = NAN, deviation = NAN;
    if (!values.empty()) {
      const auto n = static_cast<double>(values.size());
      mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
      double square = 0;
      for (const double x : values) square += (x - mean) * (x - mean);
      deviation = values.size() > 1 ? std::sqrt(square / (n - 1)) : 0.0;
    }
    text += field(mean) + field(deviation) + quantile_fields(values);
  }
  return text;
}

std::string header_of(const std::vector<Axis>& axes, const Conditions& conditions,
                      const std::vector<std::string>& columns, bool ensemble) {
  std::string text;
  for (const Axis& axis : axes) text += axis.name + ",";
  text += "runs,ended";
  const auto share = [&](const std::string& counted, const std::string& name) {
    text += fmt::format(",{},{}", counted, name);
    if (ensemble) text += fmt::format(",{0}_low,{0}_high", name);
  };
  const auto quantiles = [&](const std::string& name) {
    text += fmt::format(",{0}_q05,{0}_median,{0}_q95", name);
  };
  if (!conditions.success.empty()) share("successes", "success");
  if (!conditions.first.empty()) {
    share("reached", "reached_share");
    if (ensemble) {
      quantiles("first_time");
    } else {
      text += ",first_time";
    }
  }
  for (const std::string& column : columns) {
    text += "," + column;
    if (!ensemble) continue;
    text += fmt::format(",{}_deviation", column);
    quantiles(column);
  }
  return text + "\n";
}

// NaN for words and for empty fields.
Table numbers_of(const std::string& csv) {
  Table table;
  std::size_t begin = 0;
  while (begin < csv.size()) {
    const std::size_t line_end = csv.find('\n', begin);
    const bool header = begin == 0;
    std::size_t c = 0;
    while (true) {
      const std::size_t end = std::min(csv.find(',', begin), line_end);
      const std::string word = csv.substr(begin, end - begin);
      if (header) {
        table.names.push_back(word);
        table.columns.emplace_back();
      } else {
        char* rest = nullptr;
        const double value = std::strtod(word.c_str(), &rest);
        table.columns[c++].push_back(word.empty() || *rest != '\0' ? NAN : value);
      }
      begin = end + 1;
      if (end == line_end) break;
    }
  }
  return table;
}

// Along the first axis; further axes make a curve each.
void draw_sweep(const std::string& csv, const std::vector<Axis>& axes, const Model& model,
                const SweepOptions& o, const std::string& command) {
  const Table table = numbers_of(csv);
  const std::size_t along = axes.front().values.size();
  const std::size_t sides = table.rows() / along;
  Panels panels;
  panels.name = fmt::format("sweep-{}-{}", model.name(), o.rung);
  const bool ensemble = o.common->runs.value_or(1) > 1;
  panels.title = fmt::format("{} {} at the end of a run{}", model.name(), o.rung,
                             ensemble ? ", median and 5 to 95 % of runs, shares with 95 %" : "");
  panels.caption = command;
  panels.x_label = axes.front().name;
  panels.points = true;
  for (std::size_t k = 0; k < along; ++k) panels.x.push_back(table.columns.front()[k * sides]);
  const double ratio = panels.x.back() / panels.x.front();
  panels.x_logarithmic = panels.x.front() > 0 && ratio >= 16;
  for (std::size_t side = 0; side < sides; ++side) {
    std::string name;
    std::size_t rest = side;
    for (std::size_t a = axes.size(); a-- > 1;) {
      const std::vector<std::string>& values = axes[a].values;
      name = fmt::format("{}={}{}{}", axes[a].name, values[rest % values.size()],
                         name.empty() ? "" : " ", name);
      rest /= values.size();
    }
    panels.sides.push_back(name.empty() ? o.rung : name);
  }
  const auto values_of = [&](const std::string& name, std::size_t side) {
    const auto at = std::find(table.names.begin(), table.names.end(), name);
    std::vector<double> values;
    if (at == table.names.end()) return values;
    const auto& column = table.columns[static_cast<std::size_t>(at - table.names.begin())];
    for (std::size_t k = 0; k < along; ++k) values.push_back(column[k * sides + side]);
    return values;
  };
  const auto panel = [&](const std::string& title, const std::string& value, const std::string& low,
                         const std::string& high) {
    panels.observables.push_back(title);
    std::vector<PanelCurve> curves;
    for (std::size_t side = 0; side < sides; ++side) {
      curves.push_back({values_of(value, side), values_of(low, side), values_of(high, side)});
    }
    panels.curves.push_back(std::move(curves));
  };
  for (std::size_t c = axes.size() + 2; c < table.names.size(); ++c) {
    const std::string& name = table.names[c];
    if (name == "success" || name == "reached_share") {
      panel(name, name, name + "_low", name + "_high");
    } else if (name.ends_with("_median")) {
      const std::string of = name.substr(0, name.size() - 7);
      panel(of, name, of + "_q05", of + "_q95");
    } else if (!ensemble && name != "successes" && name != "reached") {
      panel(name, name, "", "");
    }
  }
  draw_panels(panels, o.common->plot, command, o.common->seed);
}

int execute(const SweepOptions& o, const Invocation& call) {
  const CommonOptions& common = *o.common;
  const Model& model = find_model(common.theories, common.model);
  const RungInfo info = find_rung(model, o.rung);
  if (o.over.empty()) throw InputError("popgrad sweep: --over is missing; e.g. --over tau=2,4,8");
  std::vector<Axis> axes;
  std::size_t cells = 1;
  for (const std::string& text : o.over) {
    axes.push_back(axis_of(text));
    cells *= axes.back().values.size();
    if (cells > most_cells) {
      reject(where, "--over", text, fmt::format("makes more than {} cells", most_cells));
    }
    for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
      if (axes[i].name == axes.back().name) reject(where, "--over", text, "names an axis twice");
    }
  }
  std::vector<std::string> names{"eta", "t1", "batch", "steps", "seed"};
  for (const ParameterInfo& parameter : model.parameters()) names.push_back(parameter.name);
  for (const Axis& axis : axes) {
    if (std::find(names.begin(), names.end(), axis.name) == names.end()) {
      reject(where, "--over", axis.name, "is not a parameter" + suggestion(axis.name, names));
    }
  }
  Conditions conditions;
  for (const std::string& text : o.success) {
    conditions.success.push_back(condition_of("--success", text));
  }
  for (const std::string& text : o.first) {
    conditions.first.push_back(condition_of("--first", text));
  }
  if (!common.plot.empty()) {
    for (const std::string& value : axes.front().values) number_of(axes.front().name, value);
  }
  const bool to_file = !common.output.empty() && common.output != "-";
  if (to_file && std::filesystem::path(common.output).extension() != ".csv") {
    reject(where, "--output", common.output, "must end in .csv, or be -");
  }
  if (to_file) check_writable(common.output);
  const bool to_stdout = common.output == "-" || (common.output.empty() && common.plot.empty());

  // Rows of an earlier, interrupted sweep by the same command are kept.
  const std::string note = common.output + ".sweep.json";
  std::string text;
  std::size_t done = 0;
  if (to_file && std::filesystem::exists(common.output)) {
    if (!std::filesystem::exists(note) || read_file(note) != json_text(call.words)) {
      reject(where, "--output", common.output,
             "holds something that another command made; remove it, or name another file");
    }
    text = read_file(common.output);
    // A line a cell behind the header.
    done = static_cast<std::size_t>(
        std::max<std::ptrdiff_t>(0, std::count(text.begin(), text.end(), '\n') - 1));
    if (!common.quiet && done > 0) {
      fmt::print(stderr, "popgrad: {} of {} cells are there already\n", std::min(done, cells),
                 cells);
    }
  }
  Progress bar("sweep", common.quiet);
  for (std::size_t cell = done; cell < cells; ++cell) {
    CommonOptions own = common;
    std::string row;
    std::size_t rest = cell;
    std::vector<std::string> values(axes.size());
    for (std::size_t k = axes.size(); k-- > 0;) {
      values[k] = axes[k].values[rest % axes[k].values.size()];
      rest /= axes[k].values.size();
    }
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (!set_option(own, axes[k].name, values[k])) own.flags[axes[k].name] = values[k];
      row += values[k] + ",";
    }
    bool stopped = false;
    const Report report = [&](double fraction) {
      bar.update((static_cast<double>(cell) + fraction) / static_cast<double>(cells));
      return interrupted();
    };
    row += row_of(o, own, model, info, conditions, report, stopped);
    if (stopped || interrupted()) {
      if (to_file)
        fmt::print(stderr, "popgrad: interrupted after {} of {} cells; the same command goes on\n",
                   cell, cells);
      return numerical_failure;
    }
    if (text.empty()) {
      const AnyRung<double> rung =
          model.rung(info.name, gather_parameters(own, model, info.name), own.seed);
      const bool ensemble = info.kind == RungKind::random && common.runs.value_or(1) > 1;
      text = header_of(axes, conditions, rung.columns, ensemble);
      if (to_stdout) fmt::print("{}", text);
    }
    text += row + "\n";
    if (to_file) {
      if (cell == 0) write_atomically(note, json_text(call.words));
      write_atomically(common.output, text);
    } else if (to_stdout) {
      fmt::print("{}\n", row);
    }
  }
  if (!common.plot.empty()) draw_sweep(text, axes, model, o, command_line(call));
  if (!common.quiet) fmt::print(stderr, "popgrad: made by: {}\n", command_line(call));
  return success;
}

}  // namespace

Action add_sweep(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<SweepOptions>();
  Command* command = app.add_subcommand(
      "sweep", "a rung over a grid of parameters: where runs end, and how many succeed");
  command->add_option("model", "model (see 'popgrad list')").required();
  command->add_option("rung", o->rung, "rung of the model").required();
  o->common = add_common_options(*command, call,
                                 {{"--save", "--save-at", "--digits", "--states", "--no-events"},
                                  "has no meaning here: a sweep keeps the ends of runs, in double"},
                                 "one row a cell, as .csv; - is standard output");
  command
      ->add_option("--over", o->over,
                   "axis NAME=v,v,... or NAME=LOW:HIGH:COUNT, even in the logarithm; a parameter "
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
          "COLUMN<=VALUE or COLUMN>=VALUE: adds when a run first meets it (all of them, if "
          "repeated), to a thousandth of its length, and how many runs do (repeatable)")
      .allow_extra_args(false);
  command->footer("A sweep that was interrupted goes on when the same command is given again.");
  return [command, o, call]() -> int {
    o->common->model = command->get_option("model").as<std::string>();
    apply_config(*command, *o->common);
    check_meaning(*command, find_rung(find_model(call.theories, o->common->model), o->rung));
    return execute(*o, call);
  };
}

}  // namespace popgrad::cli
