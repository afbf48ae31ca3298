// Attention entropy along the reduced flow: it falls and comes back with nonlinear phi, and falls for
// good with linear phi.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/figures/entropy_curve.hpp"
#include "theorems/joma/rungs/parameters.hpp"

namespace popgrad::joma::figures::entropy_figure {
namespace {

constexpr const char* of_flow = "nonlinear φ, flow";
constexpr const char* of_euler = "Euler, step 0.02";
constexpr const char* of_linear = "linear φ";
constexpr const char* of_extrema = "extrema";  // of the flow, which may have none, and of its steps

std::vector<FigureFile> data(const FigureRequest& request) {
  const ReducedInstance<double> chosen = reduced_instance<double>(request.parameters, request.seed);
  ReducedInstance<double> linear = chosen;
  linear.nonlinear = false;
  // Linear phi is monotone from a zero start only.
  linear.start.setZero();
  FigureTable table;
  FigureTable marks;
  const auto mark = [&](std::string_view name, double t, double value) {
    marks.add("extremum", name, "t", t, "attention_entropy", value);
  };

  const Trajectory<double> flow = entropy_curve(chosen, 0.1, 100.0, request.name);
  add_entropy(table, of_flow, flow);
  marks.block(of_extrema);
  for (const Event<double>& event : flow.events) {
    if (event.name == "entropy-minimum") mark("flow", event.t, event.value);
  }

  const AnyRung<double> rung = forget_type(ReducedFlow<double>(chosen));
  WalkRequest walk_request;
  walk_request.step_size = 0.02;
  walk_request.steps = 5000;
  walk_request.save_steps.resize(walk_request.steps + 1);
  std::iota(walk_request.save_steps.begin(), walk_request.save_steps.end(), std::uint64_t{0});
  const Trajectory<double> euler = walk(rung, rung.initial, walk_request).front();
  require_usable(euler.outcome, request.name);
  const std::vector<double> entropy = euler.column("attention_entropy");
  table.block(of_euler);
  std::size_t last = 0;
  for (const double t :
       logarithmic_times(0.1, 100.0, 26)) {  // a few of the 5000, evenly on the axis
    const auto step = static_cast<std::size_t>(std::lround(t / walk_request.step_size));
    if (step == last) continue;
    last = step;
    table.add("t", euler.t[step], "attention_entropy", entropy[step]);
  }
  const auto least = std::min_element(entropy.begin(), entropy.end());
  mark("euler", euler.t[static_cast<std::size_t>(least - entropy.begin())], *least);

  add_entropy(table, of_linear, entropy_curve(linear, 0.1, 100.0, request.name));

  return {table.file(request), marks.file(request, "extrema")};
}

Picture picture() {
  const auto curve = [](const char* block) {
    return plot::line("t", "attention_entropy").of(block);
  };
  const std::string of_minimum = "({extremum} eq 'flow' ? [t] : NaN)";
  const Panel bounce{.x = {.label = "time t = learning rate × steps",
                           .range = "0.1:100",
                           .logarithmic = true,
                           .format = "%g"},
                     .y = {.label = "attention entropy (nats)",
                           .range = "0:2.6",
                           .tics = "0.5",
                           .own_range = "0:*"},
                     .key = "bottom left",
                     .curves = {curve(of_flow).colour(1).titled(of_flow),
                                plot::points("t", "attention_entropy")
                                    .of(of_euler)
                                    .coloured("orange")
                                    .mark(6, 0.6)
                                    .wide(0.7)
                                    .titled(of_euler),
                                curve(of_linear).colour(3).dashed().titled(of_linear),
                                plot::points(of_minimum, "attention_entropy")
                                    .in("extrema")
                                    .of(of_extrema)
                                    .coloured("black")
                                    .mark(7, 0.7),
                                plot::texts(of_minimum, "attention_entropy",
                                            "sprintf(\"minimum %.4f\\nat t = %.2f\", "
                                            "[attention_entropy], [t])")
                                    .in("extrema")
                                    .of(of_extrema)
                                    .looking("left offset 1,-0.3")}};
  return {.height = 1.9, .left = 0.17, .panels = {bounce}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-entropy",
                   .title = "Attention entropy falls and bounces back with nonlinear `phi`",
                   .in_report = true,
                   .shows = {"joma.entropy-bounce"},
                   .parameters = {{parameter::mu},
                                  {parameter::tau},
                                  {parameter::v0},
                                  {parameter::attention, "softmax"}}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::joma::figures::entropy_figure
