#include "commands/landscape_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/listed.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/landscape_slice.hpp"
#include "commands/progress.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "runs/run.hpp"

namespace popgrad::cli {
namespace {

void write_table(const CommonOptions& common, const std::string& csv) {
  if (common.output.empty() || common.output == "-") {
    std::fputs(csv.c_str(), standard_output());
  } else {
    write_atomically(common.output, csv);
  }
}

}  // namespace

int list_critical_points(const CommonOptions& common, const LossLandscape& landscape,
                         const LandscapeLoss& loss, const LandscapeBox& box,
                         const Invocation& call) {
  if (!loss.critical) {
    reject(popgrad_landscape, "--critical", landscape.name,
           "has no field whose zeros could be found: the loss is sampled, or none is written "
           "as a formula");
  }
  if (!common.output.empty() && common.output != "-") check_writable(common.output);
  const std::vector<LandscapeCritical> points = loss.critical(box);
  const std::string &x = landscape.coordinates[0].name, &y = landscape.coordinates[1].name;
  std::string csv = fmt::format("{},{},value,slope,negative,zero,positive\n", x, y);
  for (const LandscapeCritical& c : points) {
    csv += fmt::format("{},{},{},{},{},{},{}\n", to_text(c.x), to_text(c.y), to_text(c.value),
                       to_text(c.slope), c.negative, c.zero, c.positive);
  }
  if (Results* const results = call.results) results->table = csv;
  write_table(common, csv);
  return success;
}

int trace_path(const std::string& rung_name, const CommonOptions& common,
               const LossLandscape& landscape, const LandscapeLoss& loss, const Parameters& p,
               const Invocation& call,
               const std::function<void(const std::vector<LandscapeNearest>&)>& draw) {
  const Model& model = find_model(common.theories, common.model);
  const RungInfo& info = find_rung(model, rung_name);
  const std::vector<std::string>& rungs = landscape.path_rungs;
  if (rungs.empty()) {
    reject(popgrad_landscape, "--path", rung_name,
           fmt::format("has no use here: {} lists no paths", landscape.name));
  }
  if (std::find(rungs.begin(), rungs.end(), info.name) == rungs.end()) {
    reject(popgrad_landscape, "--path", rung_name,
           fmt::format("is none of the paths of {}: {}", landscape.name, listed(rungs, " or ")));
  }
  if (!common.output.empty() && common.output != "-") check_writable(common.output);
  Progress bar("training", common.quiet);
  const Report report = [&](double done) {
    bar.update(done);
    return interrupted();
  };
  Trajectory<double> run;
  if (info.kind == RungKind::random || info.kind == RungKind::descent) {
    WalkRequest request = walk_request(common, info);
    request.keep_states = true;
    run = Walker{model.rung(info.name, p, common.seed)}.runs(request, report).front();
  } else {
    SolveRequest<double> request = solve_request<double>(common, info, p);
    request.keep_states = true;
    run = trajectory_of_flow(model.rung(info.name, p, common.seed), info, request, report);
  }
  if (!run.outcome.usable()) {
    report_failure(fmt::format("popgrad: training stopped at t = {:.6g}: {}", run.outcome.t_reached,
                               describe(run.outcome.ending)),
                   call.results);
    return numerical_failure;
  }
  std::string csv = fmt::format("t,{},{},distance\n", landscape.coordinates[0].name,
                                landscape.coordinates[1].name);
  std::vector<LandscapeNearest> path;
  for (std::size_t k = 0; k < run.states.size(); ++k) {
    const LandscapeNearest& at = path.emplace_back(loss.nearest(info.name, run.states[k]));
    csv += fmt::format("{},{},{},{}\n", to_text(run.t[k]), to_text(at.x), to_text(at.y),
                       to_text(at.distance));
  }
  if (Results* const results = call.results) results->table = csv;
  if (common.plot.empty() || !common.output.empty()) write_table(common, csv);
  if (!common.plot.empty()) draw(path);
  return success;
}

}  // namespace popgrad::cli
