#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "commands/compare_parts.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/ladder.hpp"
#include "commands/panels.hpp"
#include "commands/progress.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/judging/compare.hpp"
#include "presenting/drawing.hpp"
#include "presenting/result_table.hpp"

namespace popgrad::cli {
namespace {

constexpr int standard_runs = 16;
constexpr std::size_t standard_times = 101;

// Save times that both rungs have: multiples of the step size where one of them takes steps.
std::vector<double> times_of(const CommonOptions& options, const Parameters& parameters,
                             const RungInfo& finer, const RungInfo& coarser) {
  const auto count = static_cast<std::size_t>(options.save.value_or(standard_times));
  if (!walks(finer) && !walks(coarser)) {
    return equally_spaced(0.0, solve_request<double>(options, finer, parameters).end, count);
  }
  const WalkRequest request = walk_request(options, walks(finer) ? finer : coarser);
  std::vector<double> times;
  for (const std::uint64_t step : evenly_spread_steps(request.steps, count)) {
    times.push_back(request.step_size * static_cast<double>(step));
  }
  return times;
}

void compare_step(LadderCost& cost, const CommonOptions& common, const Model& model,
                  const Report& report) {
  const RungInfo& finer = find_rung(model, cost.step.finer);
  const RungInfo& coarser = find_rung(model, cost.step.coarser);
  CommonOptions own = common;
  if (own.end.empty() && !own.steps) own.end = cost.step.end;
  if (!own.runs) own.runs = standard_runs;
  Parameters parameters = gather_parameters(own, model, {finer.name, coarser.name});
  if (own.instance.empty()) {
    for (const auto& [name, value] : cost.step.parameters.entries()) {
      parameters.set_default(name, value);
    }
  }
  cost.parameters = parameters.values();
  const std::vector<double> times = times_of(own, parameters, finer, coarser);
  cost.end = times.back();
  const auto left = produce_at(own, model, finer, parameters, times, report);
  const auto right = produce_at(own, model, coarser, parameters, times, report);
  require_ends(left);
  require_ends(right);
  cost.regimes = {{finer.name, regime_times(left)}, {coarser.name, regime_times(right)}};
  const auto& others = right.front().columns;
  for (const std::string& column : left.front().columns) {
    if (std::find(others.begin(), others.end(), column) == others.end()) continue;
    const Band a = band(left, column);
    const Band b = band(right, column);
    const auto largest = [](const std::vector<double>& values) {
      double size = 0;
      for (const double value : values) size = std::max(size, std::fabs(value));
      return size;
    };
    const double scale = std::max(largest(a.mean), largest(b.mean));
    if (!(scale > 0)) continue;  // an observable of something that this instance has not
    const double error = std::hypot(largest(a.deviation) / std::sqrt(static_cast<double>(a.runs)),
                                    largest(b.deviation) / std::sqrt(static_cast<double>(b.runs)));
    cost.observables.push_back(
        {distance(column, times, a.mean, b.mean), scale, largest(a.deviation), error});
  }
}

std::string csv_of(const std::vector<LadderCost>& costs) {
  FigureTable csv({"step", "finer", "coarser", "observable", "largest", "at_t", "scale", "relative",
                   "root_mean_square", "spread_of_one_run", "standard_error"});
  for (std::size_t k = 0; k < costs.size(); ++k) {
    for (const ObservableCost& o : costs[k].observables) {
      const Distance& d = o.distance;
      csv.add("step", k, "finer", costs[k].step.finer, "coarser", costs[k].step.coarser,
              "observable", d.column, "largest", d.largest, "at_t", d.time_of_largest, "scale",
              o.scale, "relative", o.relative(), "root_mean_square", d.root_mean_square,
              "spread_of_one_run", o.spread, "standard_error", o.standard_error);
    }
  }
  return csv.text();
}

struct LadderOptions {
  std::shared_ptr<CommonOptions> common;
};

// What every step refuses is no matter of a step.
void refuse_where_nothing_is_made(const std::vector<LadderCost>& costs) {
  const bool none =
      std::all_of(costs.begin(), costs.end(), [](const LadderCost& c) { return c.refused; });
  if (none && !costs.empty()) throw InputError(costs.front().failure);
}

int execute(const LadderOptions& o, const Invocation& call) {
  const CommonOptions& common = *o.common;
  const Model& model = find_model(common.theories, common.model);
  if (!common.output.empty() && common.output != "-") {
    if (std::filesystem::path(common.output).extension() != ".csv") {
      reject("popgrad ladder", "--output", common.output, "must end in .csv, or be -");
    }
    check_writable(common.output);
  }
  std::vector<LadderCost> costs;
  {
    Progress bar("ladder " + model.name(), common.quiet);
    costs = ladder_costs(common, model, [&](double done) {
      bar.update(done);
      return interrupted();
    });
  }
  const std::size_t steps = model.ladder().size();
  const bool stopped = costs.size() < steps;
  if (stopped) {
    fmt::print(standard_error(),
               "popgrad: interrupted after {} of {} steps of the ladder{}; the same command begins "
               "anew\n",
               costs.size(), steps,
               costs.empty()           ? ", nothing is kept"
               : common.output.empty() ? ", which are printed"
                                       : ", which are written");
    if (costs.empty()) return numerical_failure;
  } else {
    refuse_where_nothing_is_made(costs);
  }
  if (common.output == "-") {
    fmt::print(standard_output(), "{}", csv_of(costs));
  } else {
    fmt::print(standard_output(), "{}", ladder_table(costs));
    if (!common.output.empty()) write_atomically(common.output, csv_of(costs));
  }
  if (!common.plot.empty()) {
    Drawing drawing = ladder_drawing(costs, model, common, {}, command_line(call));
    draw_and_report(std::move(drawing), common.plot);
  }
  // A step that this instance does not have is printed as such.
  const auto failed = std::find_if(costs.begin(), costs.end(), [](const LadderCost& c) {
    return !c.failure.empty() && !c.refused;
  });
  if (failed != costs.end()) {
    fmt::print(standard_error(), "popgrad: no numbers of {} -> {}: {}\n", failed->step.finer,
               failed->step.coarser, failed->failure);
  }
  return failed == costs.end() && !stopped ? success : numerical_failure;
}

}  // namespace

std::vector<LadderCost> ladder_costs(const CommonOptions& common, const Model& model,
                                     const Report& report) {
  std::vector<LadderCost> costs;
  const std::vector<LadderStep>& steps = model.ladder();
  for (const LadderStep& step : steps) {
    LadderCost cost;
    cost.step = step;
    const auto done = static_cast<double>(costs.size());
    const auto count = static_cast<double>(steps.size());
    try {
      compare_step(cost, common, model, [&](double part) { return report((done + part) / count); });
    } catch (const Stopped&) {
      break;
    } catch (const std::exception& error) {
      cost.refused = dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
      // A step that this instance does not have is reported; the others are kept.
      cost.observables.clear();
      cost.failure = words_of(error);
    }
    costs.push_back(std::move(cost));
    if (report((done + 1) / count)) break;
  }
  return costs;
}

std::string ladder_table(const std::vector<LadderCost>& costs) {
  std::string text;
  for (const LadderCost& cost : costs) {
    text += fmt::format("{} -> {}: {}\n", cost.step.finer, cost.step.coarser, cost.step.assumption);
    if (!cost.failure.empty()) {
      text += fmt::format("  {}: {}\n\n", cost.refused ? "not on this instance" : "failed",
                          cost.failure);
      continue;
    }
    text += fmt::format("  to t = {:g}{}\n", cost.end,
                        cost.parameters.empty() ? "" : ", " + json_text(cost.parameters));
    ResultTable table({words("observable", 28), numbers("largest", 11, ".3g"),
                       numbers("at t", 11, ".5g"), numbers("relative", 11, ".3g"),
                       numbers("std. error", 11), numbers("one run +-", 13)});
    for (const ObservableCost& o : cost.observables) {
      const auto shown = [](double x) {
        return x > 0 ? fmt::format("{:.3g}", x) : std::string("-");
      };
      table.add(o.distance.column, o.distance.largest, o.distance.time_of_largest, o.relative(),
                shown(o.standard_error), shown(o.spread));
    }
    text += table.text("  ");
    const std::string regimes = regime_table(cost.regimes, "  ");
    if (!regimes.empty()) text += "\n" + regimes;
    text += "\n";
  }
  return text;
}

Drawing ladder_drawing(const std::vector<LadderCost>& costs, const Model& model,
                       const CommonOptions& common, const std::filesystem::path& folder,
                       const std::string& command) {
  // Observables by columns, steps by rows: relative distances.
  std::vector<std::string> names;
  for (const LadderCost& cost : costs) {
    for (const ObservableCost& o : cost.observables) {
      if (std::find(names.begin(), names.end(), o.distance.column) == names.end()) {
        names.push_back(o.distance.column);
      }
    }
  }
  FigureTable csv;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    std::vector<Cell> row{{"step", static_cast<double>(k)},
                          {"label", costs[k].step.finer + " → " + costs[k].step.coarser}};
    for (const std::string& name : names) {
      const auto found =
          std::find_if(costs[k].observables.begin(), costs[k].observables.end(),
                       [&](const ObservableCost& o) { return o.distance.column == name; });
      const bool there = found != costs[k].observables.end() && found->relative() > 0;
      row.emplace_back(name, there ? found->relative() : NAN);
    }
    csv.add(row);
  }
  Drawing drawing =
      captioned_drawing("ladder-" + model.name(), "ladder",
                        fmt::format("{}: distance of neighbouring rungs", model.name()),
                        caption_of_given(common, model));
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : " ") + panel_title(name);
  drawing.variables.emplace_back("observables", list);
  drawing.variables.emplace_back("steps", std::to_string(costs.size()));
  drawing.files = {{drawing.name + ".csv", csv.text()}};
  drawing.command = command;
  drawing.folder = folder;
  return drawing;
}

Action add_ladder(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<LadderOptions>();
  Command* command = app.add_subcommand(
      "ladder", "what each assumption costs: distances of neighbouring rungs, per observable");
  command->add_option("model", "model (see 'popgrad list')").required();
  using enum OptionGroup;
  o->common = add_common_options(
      *command, call, {law, seed, clock, runs, save, solver, jobs, events, output, quiet},
      "distances as .csv; - is standard output");
  command->introduce("ladder " + call.theories.front().model->name(),
                     {"--instance", "--t1", "--runs", "--output", "--plot"});
  command->footer(
      "Where a rung needs a data law of a special form and no --instance is given, the step is "
      "made "
      "on an instance of that form, which is printed.");
  return [command, o, call]() -> int {
    o->common->model = command->get_option("model").as<std::string>();
    apply_config(*command, *o->common);
    return execute(*o, call);
  };
}

}  // namespace popgrad::cli
