#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "popgrad/error.hpp"
#include "report/figure.hpp"

namespace popgrad::cli {

Action add_figure(CommandLine& app, const Invocation& call) {
  Command* command = app.add_subcommand(
      "figure", "data, gnuplot script and picture (SVG, PNG, PDF) of one figure");
  auto request = std::make_shared<FigureRequest>();
  request->folder = "figures";
  command->add_option("name", request->name, "figure, or all (see 'popgrad list')").required();
  command->add_option("-o,--output", request->folder, "folder, made if missing (default figures)");
  command->add_option("--seed", request->seed, "fixes every random draw (default 1)");
  command->add_option("--jobs", request->jobs, "threads (default 0: all cores)").not_negative();
  command->add_option("--data", request->data_file,
                      "recorded runs (CSV) or a text, for the figures that show them");
  return [request, call]() -> int {
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
             "is not known" + suggestion(request->name, names) + "; see 'popgrad list'");
    }
    request->command = command_line(call);
    for (const std::string& name : chosen) {
      // Each such figure reads a file of another kind, so one --data cannot serve all of them.
      if (needing_data.contains(name) && chosen.size() > 1) {
        fmt::print(stderr,
                   "popgrad: {0} is left out: it needs a file of its own; popgrad figure {0} "
                   "--data FILE\n",
                   name);
        continue;
      }
      FigureRequest one = *request;
      one.name = name;
      for (const std::filesystem::path& path : make_figure(call.theories, one))
        fmt::print("{}\n", path.string());
      if (interrupted()) return numerical_failure;
    }
    return success;
  };
}

}  // namespace popgrad::cli
