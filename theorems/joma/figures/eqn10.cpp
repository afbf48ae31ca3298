// Eqn 10 against the unit that it stands for: attention entropy over time, and how much faster the
// salient token is learned.

#include <algorithm>
#include <array>
#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/checks/attended_unit.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::figures::eqn10_figure {
namespace {

using joma::checks::attended_unit;
using joma::checks::AttendedUnit;

constexpr double output_weight = 0.5;
constexpr double start = 0.05;

void add_entropy(CsvText& csv, const AnyRung<double>& rung, double unit_of_time,
                 std::string_view figure) {
  SolveRequest<double> request;
  constexpr double first = 1e-4;
  constexpr double last = 20;
  constexpr int points = 500;
  for (int i = 0; i <= points; ++i) {
    request.save_at.push_back(unit_of_time * first * std::pow(last / first, i * 1.0 / points));
  }
  request.end = request.save_at.back();
  request.relative_tolerance = 1e-9;
  request.absolute_tolerance = 1e-11;
  request.find_events = false;
  const Trajectory<double> run = solve(rung, request);
  require_usable(run.outcome, figure);
  const std::vector<double> entropy = run.column("attention_entropy");
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    csv.number(run.t[i] / unit_of_time).number(entropy[i]).end_row();
  }
  csv.end_block();
}

// mu = 1.2 .. 3.8 at tau = 3; time in units of 1/h, h the slope of the field at mu.
std::string entropies(const FigureRequest& request) {
  const std::array<double, 10> mu{1.2, 1.5, 1.8, 2, 2.3, 2.6, 2.9, 3.2, 3.5, 3.8};
  const Vector<double> target = Eigen::Map<const Vector<double>>(mu.data(), std::ssize(mu));
  ReducedInstance<double> instance;
  instance.target = target;
  instance.nonlinear = true;
  instance.start = Matrix<double>::Constant(target.size(), 1, start);
  instance.logits = Vector<double>::Zero(target.size());
  instance.tau = 3;
  CsvText csv{"t", "attention_entropy"};
  for (const bool attended : {false, true}) {
    instance.attended = attended;
    add_entropy(csv, forget_type(ReducedFlow<double>(instance)), 1, request.name);
  }
  for (const Activation phi : {Activation::relu, Activation::gelu}) {
    const AttendedUnit unit = attended_unit(phi, target, instance.tau, output_weight, start);
    add_entropy(csv, forget_type(PopulationFlow<double>(unit.training)), 1 / unit.slope,
                request.name);
  }
  return csv.text();
}

// mu_k = 1, tau = 2: both laws, then a block of trained units a phi.
std::string ratios() {
  constexpr double tau = 2;
  constexpr double weak = 1;
  CsvText csv{"mu", "eqn_10", "attended"};
  for (int i = 0; i <= 100; ++i) {
    const double mu = weak + 0.02 * i;
    csv.number(mu)
        .number(std::exp((mu * mu - weak * weak) / tau))
        .number(attended_rate(mu, tau) / attended_rate(weak, tau))
        .end_row();
  }
  csv.end_block();
  for (const Activation phi : {Activation::tanh, Activation::relu, Activation::gelu}) {
    for (const double mu : {1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0}) {
      const Vector<double> target{{weak, mu}};
      const auto end = joma::checks::train(attended_unit(phi, target, tau, output_weight, start));
      const Quantity ratio = end.rate[1] / end.rate[0];
      csv.number(mu).number(ratio.value()).number(ratio.error()).end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {{request.name + "-entropy.csv", entropies(request)},
          {request.name + "-ratio.csv", ratios()}};
}

constexpr const char* script =
    R"gp(# -entropy.csv, blocks Eqn 10, attended target, trained ReLU unit, trained GELU unit: t, entropy.
# -ratio.csv, block 0: mu, both laws; blocks tanh, ReLU, GELU: mu, measured ratio, its error.
height = 4.2
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.14,0.97,0.095,0.955 spacing 0,0.13
  set ylabel offset 0.4+right,0
  set title '(a) attention entropy, μ = 1.2, …, 3.8, τ = 3'
  set xlabel 'time t in units of 1/h'
  set ylabel 'entropy (nats)'
  set logscale x
  set format x '10^{%T}'
  set xrange [1e-2:20]
  set yrange [0.7:2.5]
  set ytics 0.5
  set key bottom left reverse Left
  plot name.'-entropy.csv' index 0 using 1:2 with lines linetype 2 title 'Eqn 10: a ∘ (μ − v)', \
       '' index 1 using 1:2 with lines linetype 1 title 'a ∘ (μ − a ∘ v)', \
       '' index 2 using 1:2 with lines linetype 3 dashtype 2 title 'trained unit, ReLU', \
       '' index 3 using 1:2 with lines linetype 5 dashtype 3 title 'trained unit, GELU'
  unset logscale x
  set format x '%g'
  set title '(b) order of learning, μ_k = 1, τ = 2'
  set xlabel 'μ_j of the salient token'
  set ylabel 'ln(1/δ_j) / ln(1/δ_k), late'
  set logscale y
  set xrange [1:3.05]
  set yrange [0.9:60]
  set ytics (1,2,5,10,20,50)
  set key top left reverse Left
  plot name.'-ratio.csv' index 0 using 1:2 with lines linetype 2 title 'Eqn 10: exp((μ_j^2 − μ_k^2)/τ)', \
       '' index 0 using 1:3 with lines linetype 1 title 'μ_j^2(1 + 1/W_j) / (μ_k^2(1 + 1/W_k))', \
       '' index 1 using 1:2 with points pointtype 1 pointsize 2 linecolor rgb green title 'trained unit, tanh', \
       '' index 2 using 1:2 with points pointtype 6 pointsize 0.9 linecolor rgb black title 'trained unit, ReLU', \
       '' index 3 using 1:2 with points pointtype 2 pointsize 0.7 linecolor rgb orange title 'trained unit, GELU'
  unset logscale y
  set ytics autofreq
  unset multiplot
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-eqn10",
                   .title = "Eqn 10 against trained units: size of the bounce, order of learning",
                   .shows = {"joma.attended-target", "joma.salient-first"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::joma::figures::eqn10_figure
