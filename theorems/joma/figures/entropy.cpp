// Attention entropy along the reduced flow: it falls and comes back with nonlinear phi, falls for
// good with linear phi, and for some mu comes back more than once.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/joma/rungs/parameters.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::figures::entropy_figure {
namespace {

constexpr const char* of_flow = "nonlinear φ, flow";
constexpr const char* of_euler = "Euler, step 0.02";
constexpr const char* of_linear = "linear φ";
constexpr const char* of_two = "two bounces";
constexpr const char* once = "once";  // extrema of the flow, which may have none, and of its steps

// Attention becomes sparse and uniform twice before it stays.
ReducedInstance<double> two_bounces() {
  const std::vector<double> target{1.63, 1.77, 1.79, 1.82, 1.83, 1.83, 4.23, 4.25};
  ReducedInstance<double> made;
  const auto d = static_cast<Index>(target.size());
  made.nonlinear = true;
  made.target = Eigen::Map<const Vector<double>>(target.data(), d);
  made.start = Matrix<double>::Constant(d, 1, 0.05);
  made.logits = Vector<double>::Zero(d);
  made.tau = 3.0;
  made.attention = Attention::softmax;
  return made;
}

std::vector<double> logarithmic(double from, double to, std::size_t count) {
  std::vector<double> times(count);
  for (std::size_t i = 0; i < count; ++i) {
    times[i] = from * std::pow(to / from, static_cast<double>(i) / static_cast<double>(count - 1));
  }
  times.back() = to;
  return times;
}

Trajectory<double> follow(const ReducedInstance<double>& what, double from, double to,
                          std::string_view figure) {
  SolveRequest<double> request;
  request.end = to;
  request.save_at = logarithmic(from, to, 400);
  request.relative_tolerance = 1e-11;
  request.absolute_tolerance = 1e-13;
  Trajectory<double> run = solve(forget_type(ReducedFlow<double>(what)), request);
  require_usable(run.outcome, figure);
  return run;
}

void add_curve(FigureTable& table, std::string_view label, const Trajectory<double>& run) {
  table.block(label);
  const std::vector<double> entropy = run.column("attention_entropy");
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    table.add("t", run.t[i], "attention_entropy", entropy[i]);
  }
}

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

  const Trajectory<double> flow = follow(chosen, 0.1, 100.0, request.name);
  add_curve(table, of_flow, flow);
  marks.block(once);
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
  for (const double t : logarithmic(0.1, 100.0, 26)) {  // a few of the 5000, evenly on the axis
    const auto step = static_cast<std::size_t>(std::lround(t / walk_request.step_size));
    if (step == last) continue;
    last = step;
    table.add("t", euler.t[step], "attention_entropy", entropy[step]);
  }
  const auto least = std::min_element(entropy.begin(), entropy.end());
  mark("euler", euler.t[static_cast<std::size_t>(least - entropy.begin())], *least);

  add_curve(table, of_linear, follow(linear, 0.1, 100.0, request.name));

  const Trajectory<double> twice = follow(two_bounces(), 1.0, 100.0, request.name);
  add_curve(table, of_two, twice);
  marks.block(of_two);
  for (const Event<double>& event : twice.events) mark("twice", event.t, event.value);
  return {table.file(request), marks.file(request, "extrema")};
}

Picture picture() {
  const auto curve = [](const char* block) {
    return plot::line("t", "attention_entropy").of(block);
  };
  const auto extrema = [](const Curve& curve) { return curve.in("extrema"); };
  const auto extremum = [&](const std::string& t) {
    return extrema(plot::points(t, "attention_entropy").coloured("black").mark(7, 0.7));
  };
  const std::string of_minimum = "({extremum} eq 'flow' ? [t] : NaN)";
  const Panel bounce{
      .x = {.label = "time t = learning rate × steps",
            .range = "0.1:100",
            .logarithmic = true,
            .format = "%g"},
      .y = {.label = "attention entropy (nats)",
            .range = "0:2.6",
            .tics = "0.5",
            .own_range = "0:*"},
      .key = "bottom left",
      .curves = {
          curve(of_flow).colour(1).titled(of_flow),
          plot::points("t", "attention_entropy")
              .of(of_euler)
              .coloured("orange")
              .mark(6, 0.6)
              .wide(0.7)
              .titled(of_euler),
          curve(of_linear).colour(3).dashed().titled(of_linear), extremum(of_minimum).of(once),
          extrema(plot::texts(of_minimum, "attention_entropy",
                              "sprintf(\"minimum %.4f\\nat t = %.2f\", [attention_entropy], [t])")
                      .of(once)
                      .looking("offset 3.5,-1"))}};
  const Panel twice{
      .title = "two bounces: μ = 1.63, 1.77, …, 4.25",
      .x = {.label = bounce.x.label,
            .range = "6:60",
            .logarithmic = true,
            .tics = "(6, 10, 20, 30, 60)"},
      .y = {.label = bounce.y.label, .range = "0.7535:0.7575", .tics = "0.001", .format = "%.3f"},
      .curves = {curve(of_two).colour(2), extremum("t").of(of_two),
                 extrema(plot::texts("t", "[attention_entropy] + ($0 == 1 ? 0.0002 : -0.0002)",
                                     "sprintf('%.6f', [attention_entropy])")
                             .of(of_two))}};
  return {.height = 3.2, .left = 0.17, .panels = {bounce, twice}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "joma-entropy",
           .title =
               "Attention entropy falls and bounces back with nonlinear phi, once or several times",
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
