// Does the nonlinearity change the sample complexity? Sequences that plain SGD needs until alpha_A
// reaches 0.4, median of 9 runs, the best over batch, step size and rate of attention, for linear
// and softmax attention against T. N = 3, Q = 1.

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::figures::sample_complexity_figure {
namespace {

constexpr std::uint32_t runs = 9;
constexpr double goal = 0.4;
constexpr std::array<double, 5> step_sizes{0.02, 0.05, 0.1, 0.2, 0.4};
constexpr std::array<Index, 6> contexts{10, 20, 40, 80, 160, 320};
constexpr double searches = 2 * contexts.size();
constexpr const char* of_linear = "linear attention";
constexpr const char* of_softmax = "softmax attention";

struct Best {
  double median = std::numeric_limits<double>::infinity();
  double low = 0, high = 0;  // quartiles of the runs; runs end at `cut`
  double cut = 0;
  double batch = 0, step = 0, rate = 0;
};

// Sequences until the goal; infinite if more than `most` are needed.
double samples_of_run(const SequenceSgd<double>& rung, double step, Index batch, double most,
                      std::uint64_t seed, std::uint32_t run) {
  Vector<double> x = rung.initial();
  Vector<double> dx(x.size());
  const std::vector<std::string> columns = rung.columns();
  const std::size_t alpha_A = place_of(columns, "alpha_A");
  const std::size_t loss = place_of(columns, "loss");
  std::vector<double> row(columns.size());
  double used = 0;
  for (std::uint64_t i = 0; used < most && !stop_asked(); ++i) {
    Stream stream(seed, run, i);
    rung.sample_rhs(x, dx, stream, batch);
    x += step * dx;
    used += static_cast<double>(batch);
    rung.observe(x, 0.0, row);
    // Linear attention that has diverged passes the goal as well, with a loss above that of mu.
    if (row[alpha_A] >= goal)
      return row[loss] < 0.5 ? used : std::numeric_limits<double>::infinity();
    if (!(std::fabs(row[alpha_A]) < 10)) break;
  }
  return std::numeric_limits<double>::infinity();
}

// `begun`: searches before this one.
Best best_over_grid(Index context, bool softmax, double begun, const FigureRequest& request) {
  Parameters at_context = request.parameters;
  at_context.set("T", std::to_string(context));
  Training<double> training = scb::training<double>(at_context, request.seed);
  training.softmax = softmax;
  Best best;
  const auto positions = static_cast<double>(context);
  const std::vector<double> rates =
      softmax ? std::vector<double>{0.5, 1, 1.5} : std::vector<double>{0};
  double part = 0;
  for (const double rate : rates) {
    training.attention_rate = std::pow(positions, rate);
    const SequenceSgd<double> rung(training);
    for (const double step : step_sizes) {
      request.done((begun + part) / searches);
      part += 1 / static_cast<double>(rates.size() * step_sizes.size());
      for (Index batch = 1; batch <= 256; batch *= 4) {
        const double most = std::min(3 * best.median, 3e6);
        std::vector<double> used(runs);
        const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
#pragma omp parallel num_threads(jobs)
        {
          SequenceSgd<double> own = rung;
#pragma omp for schedule(dynamic, 1)
          for (std::uint32_t run = 0; run < runs; ++run) {
            used[run] = samples_of_run(own, step, batch, most, request.seed, run);
          }
        }
        std::sort(used.begin(), used.end());
        if (used[runs / 2] < best.median) {
          best = {used[runs / 2],
                  used[runs / 4],
                  used[3 * runs / 4],
                  most,
                  static_cast<double>(batch),
                  step,
                  training.attention_rate};
        }
      }
    }
  }
  return best;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  double begun = 0;
  for (const bool softmax : {false, true}) {
    table.block(softmax ? of_softmax : of_linear);
    for (const Index context : contexts) {
      const Best best = best_over_grid(context, softmax, begun++, request);
      if (!std::isfinite(best.median)) continue;
      // Where more than a quarter of the runs were cut, the upper quartile is where they were.
      table.add("T", context, "samples", best.median, "low", best.low, "high",
                std::isfinite(best.high) ? best.high : best.cut, "B", best.batch, "eta", best.step,
                "eta_A", best.rate);
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto line = [](const char* name) {
    return plot::line_with_error_bars("T", "samples", "low", "high").of(name).titled(name);
  };
  return {
      .height = 2.7,
      .panels = {{.x = {.label = "context length T",
                        .range = "8:400",
                        .logarithmic = true,
                        .tics = "(10, 20, 40, 80, 160, 320)"},
                  .y = {.label = "sequences until α_A = 0.4", .logarithmic = true},
                  .key = "top left",
                  .curves = {line(of_linear).colour(1).mark(7, 0.5),
                             line(of_softmax).colour(2).mark(5, 0.5),
                             plot::formula("20*x").colour(7).dashed().wide(0.6).titled("∝ T")}}}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-samples",
                   .title = "Sequences needed by linear and by softmax attention against `T`",
                   .shows = {"scb.softmax-link"},
                   .parameters = {{parameter::N, "3"}, {parameter::Q, "1"}}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::sample_complexity_figure
