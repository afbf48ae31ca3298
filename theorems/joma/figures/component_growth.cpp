// Theorem 2: with linear phi the component of the largest |Delta| leaves every bound at a finite
// time, the others stop at limits that the erf ratio predicts.

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "popgrad/base/failure.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/rungs/closed_form.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::figures::component_growth_figure {
namespace {

std::vector<FigureFile> data(const FigureRequest& request) {
  ReducedInstance<double> instance;
  const std::vector<double> deltas{1.0, 0.9, 0.7, 0.4, -0.6};
  const auto d = static_cast<Index>(deltas.size());
  instance.target = Eigen::Map<const Vector<double>>(deltas.data(), d);
  instance.start = Matrix<double>::Zero(d, 1);
  instance.logits = Vector<double>::Zero(d);
  const double t_star = blow_up_time(deltas[0], 0.0, instance.tau);

  SolveRequest<double> solve_request;
  solve_request.end = t_star * 1.01;
  // Equally spaced, then ever closer to the blow-up, where v grows as the root of a logarithm.
  for (int i = 0; i < 120; ++i) solve_request.save_at.push_back(t_star * 0.9 * i / 120);
  for (int i = 0; i <= 100; ++i) {
    solve_request.save_at.push_back(t_star * (1 - 0.1 * std::pow(10.0, -0.05 * i)));
  }
  solve_request.relative_tolerance = 1e-10;
  solve_request.absolute_tolerance = 1e-12;
  solve_request.keep_states = true;
  const Trajectory<double> run = solve(forget_type(ReducedFlow<double>(instance)), solve_request);
  require_usable(run.outcome, request.name);
  double located = std::numeric_limits<double>::quiet_NaN();
  for (const Event<double>& event : run.events) {
    if (event.name == "blow-up") located = event.t;
  }
  if (std::isnan(located)) throw Failure("figure joma-component-growth: no blow-up");

  CsvText csv{"t", "v_0", "v_1", "v_2", "v_3", "v_4"};
  for (std::size_t i = 0; i < run.states.size(); ++i) {
    csv.number(run.t[i]);
    for (Index l = 0; l < d; ++l) csv.number(run.states[i][l]);
    csv.end_row();
  }
  csv.end_block();
  for (const double delta : deltas) {
    // erf(v/sqrt 2)/Delta is the same for all components, and 1/|Delta*| at the end.
    const double share = delta / deltas[0];
    csv.number(delta)
        .number(std::fabs(share) < 1 ? std::numbers::sqrt2 * boost::math::erf_inv(share)
                                     : std::numeric_limits<double>::quiet_NaN())
        .number(t_star)
        .number(located)
        .end_row();
  }
  return {{request.name + ".csv", csv.text()}};
}

constexpr const char* script =
    R"gp(# Columns of index 0: t, v_0 ... v_4. Index 1: delta, predicted end (empty for the one that blows
# up), predicted and located blow-up time.
height = 2.3
data = name.'.csv'
stats data index 1 using 3 every ::0::0 nooutput
t_star = STATS_max
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.11
  set rmargin at screen 0.83
  set tmargin at screen 0.96
  set bmargin at screen 0.15
  set xlabel 'time t = learning rate × steps'
  set ylabel 'component v_l'
  set xrange [0:t_star*1.04]
  set yrange [-1.1:4]
  unset key
  set arrow 1 from t_star, graph 0 to t_star, graph 1 nohead linecolor rgb grey linewidth 0.7 dashtype 2
  set label 1 't* = √(π/2) / max|Δ|' at t_star, graph 0.97 right offset -0.6,0 textcolor rgb grey
  set xzeroaxis linecolor rgb grey linewidth 0.4
  plot for [c=2:6] data index 0 using 1:c with lines linetype c-1, \
       data index 1 using (0.55*t_star):2:(0.49*t_star):(0) with vectors nohead linecolor rgb grey linewidth 0.7 dashtype 2, \
       data index 1 using (t_star*1.04):2:(sprintf('Δ = %.1f', $1)) with labels left offset 0.6,0, \
       data index 1 every ::0::0 using (t_star*1.04):(3.8):(sprintf('Δ = %.1f', $1)) with labels left offset 0.6,0
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-component-growth",
               .title =
                   "Theorem 2, linear phi: one component blows up, the others stop where predicted",
               .shows = {"joma.linear-growth"}},
      .data = data,
      .script = script};
}

}  // namespace popgrad::joma::figures::component_growth_figure
