#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/panels.hpp"
#include "commands/progress.hpp"
#include "commands/statement_choice.hpp"
#include "io/atomic_file.hpp"
#include "io/plain_text.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/evidence/frontier.hpp"
#include "presenting/drawing.hpp"
#include "presenting/result_table.hpp"

namespace popgrad::cli {
namespace {

struct FrontierOptions {
  std::vector<std::string> patterns;
  std::string hypothesis, output, plot;
  FrontierRequest request;
  bool quiet = false;
};

struct Task {
  const Statement* statement = nullptr;
  Knob knob;
};

std::vector<Task> plan(Theories theories, const FrontierOptions& o) {
  std::vector<Task> tasks;
  std::vector<std::string> names;
  for (const Statement* s : matching_statements(theories, "popgrad frontier", o.patterns)) {
    for (const Knob& knob : quantitative_hypotheses(*s)) {
      names.emplace_back(knob.name);
      if (o.hypothesis.empty() || o.hypothesis == knob.name) tasks.push_back({s, knob});
    }
  }
  if (tasks.empty() && names.empty()) {
    throw InputError(
        "popgrad frontier: none of these statements has a quantitative hypothesis; see 'popgrad "
        "list'");
  }
  if (tasks.empty()) {
    reject("popgrad frontier", "--hypothesis", o.hypothesis,
           fmt::format("is no quantitative hypothesis here{}; there are {}",
                       suggestion(o.hypothesis, names), fmt::join(names, ", ")));
  }
  return tasks;
}

std::string number(const Frontier& f, double value) {
  if (std::isnan(value)) return "undecided";
  if (std::isinf(value)) {
    return fmt::format("{}{:.4g}", f.values.back() >= f.knob.usual ? "> " : "< ", f.values.back());
  }
  return fmt::format("{:.4g}", value);
}

double quantile_of(std::vector<double> values, double p) {
  std::erase_if(values, [](double x) { return std::isnan(x); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(p * static_cast<double>(values.size() - 1)))];
}

// The scan: what fails where.
std::string curve(const Frontier& f) {
  FigureTable csv;
  for (std::size_t k = 0; k < f.values.size(); ++k) {
    std::vector<double> shares;
    for (const FrontierInstance& instance : f.instances) {
      if (k < instance.of_allowed.size()) shares.push_back(instance.of_allowed[k]);
    }
    csv.add(f.knob.name, f.values[k], "failed", f.failed_share(f.values[k]), "of_allowed_low",
            quantile_of(shares, 0.25), "of_allowed_median", quantile_of(shares, 0.5),
            "of_allowed_high", quantile_of(shares, 0.75));
  }
  return csv.text();
}

std::string instances_table(const Frontier& f) {
  FigureTable csv;
  for (const FrontierInstance& instance : f.instances) {
    std::vector<Cell> row{{"seed", static_cast<double>(instance.seed)}};
    for (const auto& [name, value] : instance.point) row.emplace_back(name, value);
    row.emplace_back("fails_at", instance.fails_at);
    row.emplace_back("evidence", "\"" + plain_text(instance.what) + "\"");
    csv.add(row);
  }
  return csv.text();
}

// What --plot names has to fit the number of frontiers.
void check_pictures(const FrontierOptions& o, const std::vector<Task>& tasks) {
  check_plot(o.plot);
  if (o.plot.empty() || tasks.size() == 1) return;
  const std::filesystem::path path(o.plot);
  if (path.extension().empty() || std::filesystem::is_directory(path)) return;
  reject(
      "popgrad frontier", "--plot", o.plot,
      fmt::format("is one picture, and there are {} frontiers; name a folder, or choose one with "
                  "--hypothesis",
                  tasks.size()));
}

Drawing drawing_of(const Task& task, const Frontier& found, const FrontierOptions& o,
                   const std::string& command) {
  Drawing drawing = captioned_drawing(
      fmt::format("frontier-{}-{}", task.statement->id, task.knob.name), "frontier",
      fmt::format("{}: how far '{}' may be violated", task.statement->id,
                  plain_text(task.knob.breaks)),
      fmt::format("{} instances, failed when an equality is off by {:g}; seed {}",
                  found.instances.size(), o.request.slack, o.request.seed));
  const std::vector<std::pair<std::string, std::string>> variables{
      {"axis", std::string(task.knob.meaning)},
      {"x_low", fmt::format("{:.17g}", std::min(found.values.front(), found.values.back()))},
      {"x_high", fmt::format("{:.17g}", std::max(found.values.front(), found.values.back()))},
      {"spacing", task.knob.spacing == Spacing::logarithmic ? "logarithmic" : "linear"},
      {"heading", task.statement->id}};
  drawing.variables.insert(drawing.variables.end(), variables.begin(), variables.end());
  drawing.files = {{drawing.name + ".csv", curve(found)},
                   {drawing.name + "-instances.csv", instances_table(found)}};
  drawing.command = command;
  drawing.seed = o.request.seed;
  return drawing;
}

int execute(const FrontierOptions& o, const Invocation& call) {
  const std::vector<Task> tasks = plan(call.theories, o);
  check_pictures(o, tasks);
  if (!o.output.empty()) check_folder(o.output);
  ResultTable table({words("statement"), words("hypothesis", 0, 2), numbers("usual", 8, ".4g"),
                     numbers("instances", 10), numbers("failed", 8), numbers("first 5 %", 12),
                     numbers("half", 12), numbers("95 %", 12)});
  bool stopped = false;
  int status = success;
  std::string trouble;  // of pictures; the table is printed all the same
  std::size_t done = 0;
  std::size_t of_last = 0;  // instances of the one that was interrupted
  Progress bar("frontier", o.quiet);
  for (const Task& task : tasks) {
    FrontierRequest request = o.request;
    request.on_progress = [&](double part) {
      bar.update((static_cast<double>(done) + part) / static_cast<double>(tasks.size()),
                 task.statement->id);
      return interrupted();
    };
    if ((stopped = interrupted())) break;
    const Frontier found = frontier(*task.statement, task.knob, request);
    if ((stopped = found.stopped)) {
      of_last = found.instances.size();
    } else {
      ++done;
    }
    if (!found.instances.empty()) {
      const auto failed =
          std::count_if(found.instances.begin(), found.instances.end(),
                        [](const FrontierInstance& i) { return std::isfinite(i.fails_at); });
      table.add(task.statement->id, task.knob.name, task.knob.usual, found.instances.size(), failed,
                number(found, found.quantile(0.05)), number(found, found.quantile(0.5)),
                number(found, found.quantile(0.95)));
      table.note("  breaks: {}; {}\n", plain_text(task.knob.breaks), task.knob.meaning);
      const auto first = std::find_if(found.instances.begin(), found.instances.end(),
                                      [](const FrontierInstance& i) { return !i.what.empty(); });
      if (first != found.instances.end()) table.note("  fails:  {}\n", plain_text(first->what));
      if (std::isnan(found.quantile(0.5))) status = combined(status, undecided);
    }
    if (!found.instances.empty()) {
      Drawing drawing = drawing_of(task, found, o, command_line(call));
      try {
        if (!o.output.empty()) {
          drawing.folder = o.output;
          for (const auto& path : draw(drawing)) table.note("  {}\n", path.string());
        }
        if (!o.plot.empty()) draw_and_report(std::move(drawing), o.plot);
      } catch (const Failure& failure) {
        trouble = failure.what();
      }
    }
    if (stopped) break;
  }
  fmt::print(standard_output(),
             "{}\nvalues at which the conclusion has failed on 5 %, half and 95 % of the random "
             "instances;\nan equality counts as failed when it is off by more than {:g}\n",
             table.text(), o.request.slack);
  if (!trouble.empty()) fmt::print(standard_error(), "popgrad: {}\n", trouble);
  if (stopped) {
    fmt::print(standard_error(),
               "popgrad: interrupted after {} of {} frontiers and {} instances of the next; go on "
               "with: popgrad frontier {} --hypothesis {}\n",
               done, tasks.size(), of_last, tasks[done].statement->id, tasks[done].knob.name);
  }
  return stopped || !trouble.empty() ? combined(status, numerical_failure) : status;
}

}  // namespace

Action add_frontier(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<FrontierOptions>();
  Command* command = app.add_subcommand(
      "frontier", "how far a hypothesis may be violated before the conclusion fails");
  command
      ->add_option("statements", o->patterns,
                   "ids or globs such as " + example_statements(call.theories))
      .required();
  command->add_option("--hypothesis", o->hypothesis,
                      "which (see 'popgrad list ID'; default: every quantitative one)");
  command->add_option("--instances", o->request.instances, Whole{within(1, 1e5), "32"},
                      "random instances");
  command->add_option("--grid", o->request.grid, Whole{within(2, 1000), "9"},
                      "values scanned before bisection");
  command->add_option("--within", o->request.slack, Number{above_up_to(0, 1000), "0.01"},
                      "relative error above which an equality counts as failed");
  command->add_option("--seed", o->request.seed, Whole{any_seed, "1"}, "fixes the instances");
  command->add_option("--jobs", o->request.jobs, Whole{any_jobs, "0"},
                      "threads; results do not depend on it; 0: all cores");
  command
      ->add_option("-o,--output", o->output,
                   "folder for the curve and its picture, one set a hypothesis")
      .kind("folder");
  command
      ->add_option("--plot", o->plot,
                   "picture of the frontier: FILE.svg, FILE.png, FILE.pdf, or a folder, where each "
                   "hypothesis gets all three with data and gnuplot script")
      .kind("output file");
  command->add_flag("-q,--quiet", o->quiet, "no progress on standard error");
  const auto has_frontier = [](const Statement& s) {
    return std::ranges::any_of(s.knobs, [](const Knob& knob) { return !knob.breaks.empty(); });
  };
  command->introduce(
      "frontier " + example_statement(call.theories, has_frontier) + " --instances 4",
      {"--hypothesis", "--instances", "--within", "--output", "--plot"});
  return [o, call] { return execute(*o, call); };
}

}  // namespace popgrad::cli
