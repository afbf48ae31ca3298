// The role of Q: critical batch of boosting (75 %) and its time without noise against the number of
// positions that a token attends to. N = 3, T = 1000, threshold 0.1/Q; two instances.

#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/parameters.hpp"
#include "theorems/scb/rungs/success.hpp"

namespace popgrad::scb::figures::context_size_figure {
namespace {

struct Kind {
  const char* name;
  Sampling sampling;
  std::uint64_t instance;
  Index largest;  // Q
};

constexpr std::array<Kind, 3> kinds{{{"noise, first instance", Sampling::lumped_noise, 0, 64},
                                     {"noise, second instance", Sampling::lumped_noise, 1, 64},
                                     {"SGD on sequences", Sampling::sequences, 0, 16}}};

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  double done = 0;
  double all = 0;
  for (const Kind& kind : kinds) all += 1 + std::log2(static_cast<double>(kind.largest));
  for (const Kind& kind : kinds) {
    table.block(kind.name);
    for (Index support = 1; support <= kind.largest; support *= 2) {
      request.done(done++ / all);
      Parameters at_support = request.parameters;
      at_support.set("Q", std::to_string(support));
      const Training<double> training =
          scb::training<double>(at_support, request.seed + kind.instance);
      AttemptSetting setting;
      setting.seed = request.seed;
      setting.jobs = request.jobs;
      setting.sampling = kind.sampling;
      setting.schedule.threshold = 0.1 / static_cast<double>(support);
      setting.levels = noise_at_solution(training.bigrams);
      CrossingRequest crossing;
      crossing.level = 0.75;
      crossing.runs = kind.sampling == Sampling::sequences ? 30 : 40;
      crossing.first = 100;
      const Crossing found = find_crossing(success_counter(training, setting), crossing);
      if (!found.found) continue;
      const auto steps = quiet_boost_steps(training, setting.schedule, setting.step);
      table.add("Q", support, "B", found.size, "low", found.low, "high", found.high, "steps", steps,
                "K_Q", context_size(training.bigrams));
    }
  }
  return {table.file(request)};
}

Picture picture() {
  const auto of_noise = [](const Curve& curve, std::size_t instance) {
    return curve.of(kinds[instance].name).colour(1).mark(7, 0.5);
  };
  const Curve batch = plot::line_with_error_bars("Q", "B", "low", "high");
  const Curve steps = plot::line_with_points("Q", "steps");
  const Axis x{.range = "0.8:80", .logarithmic = true, .tics = "(1, 2, 4, 8, 16, 32, 64)"};
  Panel batches{.x = x,
                .y = {.label = "batch for 75 % success", .logarithmic = true, .format = "%g"},
                .key = "top left",
                .curves = {of_noise(batch, 0).titled("multiplicative noise, two instances"),
                           of_noise(batch, 1),
                           plot::error_bars("Q", "B", "low", "high")
                               .of(kinds[2].name)
                               .colour(7)
                               .mark(6, 0.9)
                               .titled(kinds[2].name)}};
  Panel times{.x = x,
              .y = {.label = "steps of boosting", .logarithmic = true},
              .key = "top left",
              .curves = {of_noise(steps, 0), of_noise(steps, 1),
                         plot::line("Q", "900/sqrt([K_Q])")
                             .of(kinds[0].name)
                             .colour(7)
                             .dashed()
                             .wide(0.6)
                             .titled("K_Q^{−1/2}")}};
  times.x.label = "positions a token attends to, Q";
  return {.height = 3.4, .panels = {batches, times}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scb-context-size",
                   .title = "The role of `Q`: critical batch and time of boosting",
                   .shows = {"scb.two-stages"},
                   .parameters = {{parameter::N, "3"}, {parameter::T, "1000"}}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::scb::figures::context_size_figure
