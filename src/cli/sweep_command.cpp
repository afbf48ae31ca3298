#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/exit_status.hpp"
#include "cli/host.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "cli/sweep_picture.hpp"
#include "cli/sweep_table.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/error.hpp"
#include "popgrad/rung.hpp"

namespace popgrad::cli {
namespace {

constexpr const char* where = "popgrad sweep";
constexpr std::size_t most_cells = 1'000'000;

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
  if (!common.plot.empty()) check_drawable(axes);
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
      fmt::print(standard_error(), "popgrad: {} of {} cells are there already\n",
                 std::min(done, cells), cells);
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
    row += row_of(info, own, model, conditions, report, stopped);
    if (stopped || interrupted()) {
      if (host().results != nullptr) host().results->table = text;
      if (to_file)
        fmt::print(standard_error(),
                   "popgrad: interrupted after {} of {} cells; the same command goes on\n", cell,
                   cells);
      return numerical_failure;
    }
    if (text.empty()) {
      const AnyRung<double> rung =
          model.rung(info.name, gather_parameters(own, model, info.name), own.seed);
      const bool ensemble = info.kind == RungKind::random && common.runs.value_or(1) > 1;
      text = header_of(axes, conditions, rung.columns, ensemble);
      if (to_stdout) fmt::print(standard_output(), "{}", text);
    }
    text += row + "\n";
    if (to_file) {
      if (cell == 0) write_atomically(note, json_text(call.words));
      write_atomically(common.output, text);
    } else if (to_stdout) {
      fmt::print(standard_output(), "{}\n", row);
    }
  }
  if (host().results != nullptr) host().results->table = text;
  if (!common.plot.empty()) draw_sweep(text, axes, common, o.rung, command_line(call));
  if (!common.quiet) fmt::print(standard_error(), "popgrad: made by: {}\n", command_line(call));
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