#include "commands/landscape_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/listed.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/panels.hpp"
#include "commands/progress.hpp"
#include "commands/surface.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "runs/run.hpp"

namespace popgrad::cli {
namespace {

// Gaussian, each column of each matrix as long as that of the parameters: filter normalisation.
Vector<double> random_direction(const std::vector<WholeLoss::Block>& blocks,
                                const Vector<double>& x, std::uint64_t seed, std::uint64_t which) {
  Vector<double> direction(x.size());
  Stream stream(seed, 0xFFFFFFFEU, which);
  for (double& d : direction) d = stream.normal();
  for (const WholeLoss::Block& block : blocks) {
    for (Index j = 0; j < block.columns; ++j) {
      const Index begin = block.begin + j * block.rows;
      auto part = direction.segment(begin, block.rows);
      part *= x.segment(begin, block.rows).norm() / part.norm();
    }
  }
  return direction;
}

// The loss along one direction of all weights, or over two.
void draw_slice(const SliceOptions& slice, const CommonOptions& common,
                const std::vector<double>& along, const std::vector<double>& losses,
                const std::string& caption, const Invocation& call) {
  const std::string title =
      fmt::format("{}: loss around the end of {}", common.model, slice.around);
  const std::string name = fmt::format("landscape-{}-slice", common.model);
  if (slice.directions == 1) {
    Panels panels;
    panels.name = name;
    panels.title = title;
    panels.caption = caption;
    panels.x_label = "step along a random direction, in lengths of the parameters";
    panels.x = along;
    panels.sides = {slice.around};
    panels.observables = {"loss"};
    panels.curves = {{{losses, {}, {}}}};
    draw_panels(panels, common.plot, command_line(call), common.seed);
    return;
  }
  Surface surface;
  surface.name = name;
  surface.title = title;
  surface.caption = "steps in lengths of the parameters; " + caption;
  surface.x_label = "step along a random direction";
  surface.y_label = "step along another";
  surface.value_label = "loss";
  surface.x = surface.y = along;
  // Rows of the slice are those of the first direction.
  for (std::size_t j = 0; j < along.size(); ++j) {
    for (std::size_t i = 0; i < along.size(); ++i) {
      surface.values.push_back(losses[i * along.size() + j]);
    }
  }
  const std::size_t at =
      static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
  surface.least = {{along[at / along.size()], along[at % along.size()]}};
  draw_surface(surface, common, command_line(call));
}

}  // namespace

int slice_landscape(const SliceOptions& slice, const CommonOptions& common,
                    const LossLandscape& landscape, const Parameters& p, const Invocation& call) {
  const Model& model = find_model(common.theories, common.model);
  const RungInfo& info = find_rung(model, slice.around);
  const std::vector<std::string>& rungs = landscape.whole_rungs;
  if (rungs.empty()) {
    reject(popgrad_landscape, "--around", slice.around,
           fmt::format("has no use here: {} of {} offers no slices; leave it out", landscape.name,
                       common.model));
  }
  if (std::find(rungs.begin(), rungs.end(), info.name) == rungs.end()) {
    reject(popgrad_landscape, "--around", slice.around,
           fmt::format("has no whole matrices; take {}", listed(rungs, " or ")));
  }
  if (!common.output.empty() && common.output != "-") check_writable(common.output);
  const WholeLoss whole = landscape.whole(p, common.seed);
  Progress bar("training", common.quiet);
  const Report report = [&](double done) {
    bar.update(done / 2);
    return interrupted();
  };
  const AnyRung<double> rung = model.rung(info.name, p, common.seed);
  Trajectory<double> run;
  if (info.kind == RungKind::flow) {
    run = trajectory_of_flow(rung, info, solve_request<double>(common, info, p), report);
  } else {
    run = Walker{rung}.runs(walk_request(common, info), report).front();
  }
  if (!run.outcome.usable()) {
    report_failure(fmt::format("popgrad: training stopped at t = {:.6g}: {}", run.outcome.t_reached,
                               describe(run.outcome.ending)),
                   call.results);
    return numerical_failure;
  }
  const Vector<double>& x = run.last_state;
  const Vector<double> first = random_direction(whole.blocks, x, common.seed, 0);
  const Vector<double> second = random_direction(whole.blocks, x, common.seed, 1);
  const std::vector<double> along =
      equally_spaced(-slice.span, slice.span, static_cast<std::size_t>(slice.points));
  FigureTable table(slice.directions == 2 ? std::vector<std::string>{"first", "second", "loss"}
                                          : std::vector<std::string>{"first", "loss"});
  std::vector<double> losses;
  const std::size_t asked = slice.directions == 2 ? along.size() * along.size() : along.size();
  bool stopped = false;
  for (const double a : along) {
    if (slice.directions == 1) {
      losses.push_back(whole.loss(x + a * first));
      table.add("first", to_text(a), "loss", to_text(losses.back()));
    }
    for (const double b : along) {
      if (slice.directions == 1 || (stopped = interrupted())) break;
      losses.push_back(whole.loss(x + a * first + b * second));
      table.add("first", to_text(a), "second", to_text(b), "loss", to_text(losses.back()));
    }
    stopped = stopped || (losses.size() < asked && interrupted());
    if (stopped) break;
  }
  if (!stopped && !common.plot.empty())
    draw_slice(slice, common, along, losses, caption_of_given(common, model), call);
  const std::string csv = table.text();
  if (call.results != nullptr) call.results->table = csv;
  if (common.output.empty() || common.output == "-") {
    fmt::print(standard_output(), "{}", csv);
  } else {
    write_atomically(common.output, csv);
  }
  if (!stopped) return success;
  fmt::print(standard_error(),
             "popgrad: interrupted; kept: {} of {} points of the slice; the same command begins "
             "anew\n",
             losses.size(), asked);
  return numerical_failure;
}

}  // namespace popgrad::cli
