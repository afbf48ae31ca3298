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

void add_curve(CsvText& csv, const Trajectory<double>& run) {
  const std::vector<double> entropy = run.column("attention_entropy");
  for (std::size_t i = 0; i < run.t.size(); ++i) csv.number(run.t[i]).number(entropy[i]).end_row();
  csv.end_block();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const ReducedInstance<double> chosen = reduced_instance<double>(request.parameters, request.seed);
  ReducedInstance<double> linear = chosen;
  linear.nonlinear = false;
  // Linear phi is monotone from a zero start only.
  linear.start.setZero();
  CsvText csv{"t", "attention_entropy"};
  CsvText marks{"extremum", "t", "attention_entropy"};
  const auto mark = [&](std::string_view name, double t, double value) {
    marks.word(name).number(t).number(value).end_row();
  };

  const Trajectory<double> flow = follow(chosen, 0.1, 100.0, request.name);
  add_curve(csv, flow);
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
  std::size_t last = 0;
  for (const double t : logarithmic(0.1, 100.0, 26)) {  // a few of the 5000, evenly on the axis
    const auto step = static_cast<std::size_t>(std::lround(t / walk_request.step_size));
    if (step == last) continue;
    last = step;
    csv.number(euler.t[step]).number(entropy[step]).end_row();
  }
  csv.end_block();
  const auto least = std::min_element(entropy.begin(), entropy.end());
  mark("euler", euler.t[static_cast<std::size_t>(least - entropy.begin())], *least);

  add_curve(csv, follow(linear, 0.1, 100.0, request.name));

  const Trajectory<double> twice = follow(two_bounces(), 1.0, 100.0, request.name);
  add_curve(csv, twice);
  marks.end_block();
  for (const Event<double>& event : twice.events) mark("twice", event.t, event.value);
  const std::string& extrema = marks.text();
  return {{request.name + ".csv", csv.text() + extrema.substr(extrema.find('\n') + 1)}};
}

constexpr const char* script =
    R"gp(# Index 0: t, entropy of the reduced flow. 1: the same by Euler steps of 0.02. 2: linear phi.
# 3: an instance that bounces twice. Extrema, 4: flow or euler, t, entropy; 5: of the instance of 3.
height = 3.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.97,0.11,0.97 spacing 0,0.13
  set ylabel 'attention entropy (nats)' offset 0.3+right,0
  set xlabel 'time t = learning rate × steps'
  set logscale x
  set xrange [0.1:100]
  eval y_range('0:2.6', '0:*')
  set ytics 0.5
  set format x '%g'
  set key on bottom left reverse Left
  set style line 9 pointtype 7 pointsize 0.7 linecolor rgb black
  plot data index 0 using 1:2 with lines linetype 1 title 'nonlinear φ, flow', \
       data index 1 using 1:2 with points pointtype 6 pointsize 0.6 linecolor rgb orange linewidth 0.7 title 'Euler, step 0.02', \
       data index 2 using 1:2 with lines linetype 3 dashtype 2 title 'linear φ', \
       data index 4 using (strcol(1) eq 'flow' ? $2 : NaN):3 with points linestyle 9 notitle, \
       data index 4 using (strcol(1) eq 'flow' ? $2 : NaN):3:(sprintf("minimum %.4f\nat t = %.2f", $3, $2)) with labels offset 3.5,-1 notitle
  set xrange [6:60]
  set xtics (6,10,20,30,60)
  set yrange [0.7535:0.7575]
  set ytics 0.001
  set format y '%.3f'
  set label 2 'two bounces: μ = 1.63, 1.77, … 4.25' at graph 0.98, graph 0.93 right
  unset key
  plot data index 3 using 1:2 with lines linetype 2, \
       data index 5 using 2:3 with points linestyle 9, \
       data index 5 using 2:($3 + ($0 == 1 ? 0.0002 : -0.0002)):(sprintf('%.6f', $3)) with labels
  set format y '%g'
  set xtics autofreq
  unset logscale x
  unset label
  unset multiplot
  unset output
}
)gp";

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
      .script = script};
}

}  // namespace popgrad::joma::figures::entropy_figure
