#include "commands/landscape_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/panels.hpp"
#include "commands/produce.hpp"
#include "commands/progress.hpp"
#include "commands/surface.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "theorems/topic/rungs/population_flow.hpp"

namespace popgrad::cli {
namespace {

using namespace popgrad::topic;

// Gaussian, each column of each matrix as long as that of the parameters: filter normalisation.
Vector<double> random_direction(const Layout& layout, const Vector<double>& x, std::uint64_t seed,
                                std::uint64_t which) {
  Vector<double> direction(x.size());
  Stream stream(seed, 0xFFFFFFFEU, which);
  for (double& d : direction) d = stream.normal();
  const auto normalise = [&](Index begin, Index rows, Index columns) {
    for (Index j = 0; j < columns; ++j) {
      auto part = direction.segment(begin + j * rows, rows);
      part *= x.segment(begin + j * rows, rows).norm() / part.norm();
    }
  };
  normalise(layout.keys(), layout.key_width, layout.width);
  normalise(layout.queries(), layout.key_width, layout.width);
  normalise(layout.values(), layout.width, layout.width);
  if (layout.embedded) normalise(layout.embedding(), layout.width, layout.vocabulary);
  return direction;
}

// The loss along one direction of all weights, or over two.
void draw_slice(const SliceOptions& slice, const CommonOptions& common,
                const std::vector<double>& along, const std::vector<double>& losses,
                const std::string& caption, const Invocation& call) {
  const std::string title = fmt::format("topic: loss around the end of {}", slice.around);
  if (slice.directions == 1) {
    Panels panels;
    panels.name = "landscape-topic-slice";
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
  surface.name = "landscape-topic-slice";
  surface.title = title;
  surface.caption = caption;
  surface.x_label = "step along a first random direction";
  surface.y_label = "along a second";
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

int slice_landscape(const SliceOptions& slice, const CommonOptions& common, const Parameters& p,
                    const Invocation& call) {
  const Model& model = find_model(common.theories, "topic");
  const RungInfo info = find_rung(model, slice.around);
  if (info.name == "block-reduced" || info.name == "optimum") {
    reject(popgrad_landscape, "--around", slice.around,
           "has no whole matrices; take flow, two-stage, gd or sgd");
  }
  if (!common.output.empty() && common.output != "-") check_writable(common.output);
  const PopulationFlow flow(training(p, common.seed));
  Progress bar("training", common.quiet);
  const Report report = [&](double done) {
    bar.update(done / 2);
    return interrupted();
  };
  const AnyRung<double> rung = model.rung(info.name, p, common.seed);
  Trajectory<double> run;
  if (info.kind == RungKind::flow) {
    run = produce_flow<double>(rung, info, solve_request<double>(common, info, p), false, nullptr,
                               report);
  } else {
    run = produce_walks(rung, walk_request(common, info), {}, report).front();
  }
  if (!run.outcome.usable()) {
    fmt::print(standard_error(), "popgrad: training stopped at t = {:.6g}: {}\n",
               run.outcome.t_reached, describe(run.outcome.ending));
    return numerical_failure;
  }
  const Vector<double>& x = run.last_state;
  const Vector<double> first = random_direction(flow.layout(), x, common.seed, 0);
  const Vector<double> second = random_direction(flow.layout(), x, common.seed, 1);
  const std::vector<double> along =
      equally_spaced(-slice.span, slice.span, static_cast<std::size_t>(slice.points));
  std::string csv = slice.directions == 2 ? "first,second,loss\n" : "first,loss\n";
  std::vector<double> losses;
  const std::size_t asked = slice.directions == 2 ? along.size() * along.size() : along.size();
  bool stopped = false;
  for (const double a : along) {
    if (slice.directions == 1) {
      losses.push_back(flow.loss(x + a * first));
      csv += fmt::format("{},{}\n", to_text(a), to_text(losses.back()));
    }
    for (const double b : along) {
      if (slice.directions == 1 || (stopped = interrupted())) break;
      losses.push_back(flow.loss(x + a * first + b * second));
      csv += fmt::format("{},{},{}\n", to_text(a), to_text(b), to_text(losses.back()));
    }
    stopped = stopped || (losses.size() < asked && interrupted());
    if (stopped) break;
  }
  if (!stopped && !common.plot.empty())
    draw_slice(slice, common, along, losses, caption_of(p.values(), {}, common.seed), call);
  if (host().results != nullptr) host().results->table = csv;
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
