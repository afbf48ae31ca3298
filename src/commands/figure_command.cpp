#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/options.hpp"
#include "commands/progress.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "presenting/figure.hpp"

namespace popgrad::cli {

namespace {

// The first that needs no data of the user's.
std::string example_figure(Theories theories) {
  for (const FigureInfo& figure : figures(theories)) {
    if (!figure.needs_data) return figure.name;
  }
  return "NAME";
}

// The parameters of the figure that the positional `name` names.
void add_parameters_of_figure(Command& command, Theories theories,
                              const std::shared_ptr<TypedParameters>& typed) {
  std::vector<ParameterInfo> possible;
  for (const FigureInfo& figure : figures(theories)) {
    append_flags(possible, figure_parameters(theories, figure.name));
  }
  command.add_dependent(possible, [theories, typed](Command& own) {
    const Option name = own.get_option("name");
    for (const FigureInfo& figure : figures(theories)) {
      if (name.count() == 0 || name.as<std::string>() != figure.name) continue;
      add_parameter_flags(own, figure_parameters(theories, figure.name),
                          "Parameters of " + figure.name, typed);
    }
  });
}

}  // namespace

Action add_figure(CommandLine& app, const Invocation& call) {
  Command* command = app.add_subcommand(
      "figure", "data, gnuplot script and picture (SVG, PNG, PDF) of one figure");
  auto request = std::make_shared<FigureRequest>();
  request->folder = "figures";
  command->add_option("name", request->name, "figure, or all (see 'popgrad list MODEL')")
      .required();
  command->add_option("-o,--output", request->folder, "folder, made if missing (default figures)")
      .kind("folder");
  command->add_option("--seed", request->seed, Whole{any_seed, "1"}, "fixes every random draw");
  command->add_option("--jobs", request->jobs, Whole{any_jobs, "0"}, "threads; 0: all cores");
  command
      ->add_option("--data", request->data_file,
                   "recorded runs (CSV) or a text, for the figures that show them")
      .kind("input file");
  auto typed = std::make_shared<TypedParameters>();
  command
      ->add_option("--instance", typed->instance,
                   "parameters of the figure as JSON, or your data law for a figure that reads one")
      .kind("input file");
  add_parameters_of_figure(*command, call.theories, typed);
  command->introduce("figure " + example_figure(call.theories) + " -o figures");
  command->footer("popgrad figure NAME --help lists the parameters that a figure reads.");
  return [request, call, typed]() -> int {
    std::vector<std::string> names;
    std::set<std::string> needing_data;
    for (const FigureInfo& figure : figures(call.theories)) {
      names.push_back(figure.name);
      if (figure.needs_data) needing_data.insert(figure.name);
    }
    std::vector<std::string> chosen;
    if (request->name == "all") {
      chosen = names;
    } else if (std::find(names.begin(), names.end(), request->name) != names.end()) {
      chosen = {request->name};
    } else {
      reject("popgrad figure", "name", request->name,
             "is not known" + suggestion(request->name, names) + "; see 'popgrad list MODEL'");
    }
    request->command = command_line(call);
    check_folder(request->folder);
    if (chosen.size() == 1) {
      const std::string& name = chosen.front();
      request->parameters = typed_parameters(*typed, figure_model(call.theories, name).name(),
                                             figure_parameters(call.theories, name));
    } else if (!typed->instance.empty()) {
      reject("popgrad figure all", "--instance", typed->instance,
             "is for one figure; all are drawn at their own parameters");
    }
    std::size_t ended = 0;
    for (const std::string& name : chosen) {
      if (interrupted()) break;
      // Each such figure reads a file of another kind, so one --data cannot serve all of them.
      if (needing_data.contains(name) && chosen.size() > 1) {
        fmt::print(standard_error(),
                   "popgrad: {0} is left out: it needs a file of its own; popgrad figure {0} "
                   "--data FILE\n",
                   name);
        ++ended;
        continue;
      }
      FigureRequest one = *request;
      one.name = name;
      Progress bar("figure " + name, false);
      one.progress = [&bar](double share) { bar.update(share); };
      try {
        for (const std::filesystem::path& path : make_figure(call.theories, one))
          fmt::print(standard_output(), "{}\n", path.string());
      } catch (const Stopped&) {
        break;
      }
      ++ended;
    }
    if (ended == chosen.size()) return success;
    fmt::print(standard_error(),
               "popgrad: interrupted after {} of {} figures, whose files are whole; go on with: "
               "popgrad figure {}\n",
               ended, chosen.size(), chosen[ended]);
    return numerical_failure;
  };
}

}  // namespace popgrad::cli
