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

namespace popgrad::theorems::joma::figures::component_growth_figure {
namespace {

using namespace popgrad::joma;

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

}  // namespace

FigureMaker figure() {
  return {
      .info = {.name = "joma-component-growth",
               .title =
                   "Theorem 2, linear phi: one component blows up, the others stop where predicted",
               .shows = {"joma.linear-growth"}},
      .data = data};
}

}  // namespace popgrad::theorems::joma::figures::component_growth_figure
