// What the size of the model does, one layer with K = 1 to 256 hidden units: loss, how well Theorem
// 1 predicts the logits in size, how far gradients move from those of the start, stable rank, and
// the rebound of attention entropy; means over starts with intervals.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace popgrad::joma::figures::model_size_figure {
namespace {

constexpr std::array<int, 5> units{1, 4, 16, 64, 256};
constexpr std::uint32_t starts = 4;
constexpr double step_size = 0.1;
constexpr std::uint64_t steps = 2000;  // as the authors take
constexpr std::uint64_t steps_between_looks = 40;
constexpr std::array measures{"loss", "size_error", "drift", "rank", "rebound"};
constexpr Index numbers = std::ssize(measures);
constexpr std::array phis{"linear", "relu"};

// By `measures`: drift of E[g phi' x] in units of the start, the largest rise of the attention
// entropy. A single ReLU unit may be off from the start on, without gradients: NaN.
Vector<double> measured(const char* phi, int count, std::uint64_t seed) {
  Parameters p("joma");
  p.set("phi", phi);
  p.set("units", std::to_string(count));
  p.set("attention", "softmax");
  p.set("temperature", "0.5");
  const PopulationFlow<double> flow(class_instance<double>(p, seed));
  const AnyRung<double> rung = forget_type(flow);
  WalkRequest request;
  request.step_size = step_size;
  request.steps = steps;
  request.save_steps = evenly_spread_steps(steps, steps / steps_between_looks + 1);
  request.jobs = 1;
  const Trajectory<double> run = std::move(walk(rung, rung.initial, request).front());
  const auto last = [&](const char* name) { return run.column(name).back(); };
  double least = HUGE_VAL;
  double rebound = 0;
  for (const double entropy : run.column("attention_entropy")) {
    least = std::min(least, entropy);
    rebound = std::max(rebound, entropy - least);
  }
  const Matrix<double> gradient = flow.mean_gradient(rung.initial);
  return Vector<double>{{last("loss"), last("invariant_residual_relative"),
                         (flow.mean_gradient(run.last_state) - gradient).norm() / gradient.norm(),
                         last("stable_rank"), rebound}};
}

// Mean and half width of the interval of every number.
std::vector<FigureFile> data(const FigureRequest& request) {
  std::vector<Matrix<double>> found(phis.size() * units.size(), Matrix<double>(starts, numbers));
  request.each(found.size() * starts, [&](std::size_t i) {
    // The widest first, so that no thread ends with one of them.
    const std::size_t setup = found.size() - 1 - i / starts;
    const auto start = static_cast<Index>(i % starts);
    found[setup].row(start) = measured(phis[setup % phis.size()], units[setup / phis.size()],
                                       request.seed + static_cast<std::uint64_t>(start))
                                  .transpose();
  });
  FigureTable table;
  for (std::size_t f = 0; f < phis.size(); ++f) {
    table.block(phis[f]);
    for (std::size_t k = 0; k < units.size(); ++k) {
      std::vector<Cell> row{{"units", static_cast<double>(units[k])}};
      for (Index n = 0; n < numbers; ++n) {
        const Matrix<double> own = found[k * phis.size() + f].col(n);
        // A mean and a variance share what may fail.
        const Quantity mean = sample_moments(own, 2 * 0.05).mean.front();
        const char* name = measures[static_cast<std::size_t>(n)];
        row.emplace_back(name, mean.value());
        row.emplace_back(fmt::format("{}_error", name), mean.error());
      }
      table.add(row);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  struct Shown {
    const char *name, *title, *range, *tics;
  };
  Picture made{.height = 5.4, .left = 0.09};
  for (const auto& [name, title, range, tics] :
       {Shown{measures[0], "(a) loss after 2000 steps (nats)", "", "0.2"},
        Shown{measures[1], "(b) error of Theorem 1 in size of the logits", "-2:10", "2"},
        Shown{measures[2], "(c) change of E[g φ' x], share of the start", "0:1.2", "0.4"},
        Shown{measures[3], "(d) stable rank of V", "0.7:1.8", "0.2"}}) {
    Panel panel{.title = title,
                .x = {.range = "0.7:400", .logarithmic = true, .tics = "(1, 4, 16, 64, 256)"},
                .y = {.range = range, .tics = tics},
                .curves = {}};
    for (std::size_t f = 0; f < phis.size(); ++f) {
      panel.curves.push_back(plot::line_with_error_bars(f == 0 ? "[units]/1.06" : "[units]*1.06",
                                                        name,
                                                        fmt::format("[{0}] - [{0}_error]", name),
                                                        fmt::format("[{0}] + [{0}_error]", name))
                                 .of(phis[f])
                                 .colour(static_cast<int>(f) + 1)
                                 .mark(7, 0.4)
                                 .titled(f == 0 ? "linear" : "ReLU"));
    }
    made.panels.push_back(panel);
  }
  made.panels.front().key = "bottom left";
  made.panels.back().x.label = "hidden units K (bars: error of the mean)";
  return made;
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-model-size",
                   .title = "One layer with 1 to 256 hidden units: what theory predicts of each"},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::joma::figures::model_size_figure
