#include "theorems/joma/checks/softmax_growth_parts.hpp"

#include "popgrad/solving/solve.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/stationary_flow.hpp"

namespace popgrad::joma::checks {

namespace {

constexpr std::size_t times_of_law = 401;

double miss_of(const Matrix<double>& predicted, const Matrix<double>& v, const Matrix<double>& v0) {
  return (predicted - v).norm() / (v - v0).norm();
}

}  // namespace

GrowthRun growth_run(const ClassInstance<double>& instance, std::uint64_t steps,
                     std::uint64_t every, double until) {
  const PopulationFlow<double> flow(instance);
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  const double twice_square = 2 * instance.temperature * instance.temperature;
  GrowthRun run;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    throw_if_stopped();
    flow.rhs(x, slope, 0.0);
    x += growth_step * slope;
    if (!x.allFinite()) throw Failure("descent diverges: take a smaller step");
    const auto v = x.head(instance.weights.size())
                       .reshaped(instance.weights.rows(), instance.units())
                       .topRows(instance.tokens());
    const Vector<double> squares = v.rowwise().squaredNorm();
    const double range = (squares.maxCoeff() - squares.minCoeff()) / twice_square;
    if (step % every != 0 && range < until) continue;
    run.step.push_back(static_cast<double>(step));
    run.range.push_back(range);
    run.v.emplace_back(v);
    if (range >= until) break;
  }
  return run;
}

GrowthLaw growth_law(const ClassInstance<double>& instance, double end, double halves,
                     double tolerance) {
  ReducedInstance<double> frozen;
  frozen.target = initial_mean_gradient(instance);
  frozen.start = instance.weights.topRows(instance.tokens());
  // z/T = z(0)/T + halves sum_k (v_k^2 - v_k(0)^2)/T^2 is what `stationary` makes of a temperature
  // of T/sqrt(2 halves).
  const double factor = std::sqrt(2 * halves);
  frozen.logits = instance.logits / factor;
  frozen.tau = 2 * std::pow(instance.temperature / factor, 2);
  const AnyRung<double> rung = forget_type(StationaryFlow<double>(frozen));
  SolveRequest<double> request;
  request.end = end;
  request.save_at = equally_spaced(0.0, end, times_of_law);
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance / 100;
  request.keep_states = true;
  Trajectory<double> path = solve(rung, rung.initial, request);
  throw_if_stopped();
  for (const Event<double>& event : path.events) {
    if (event.name != "blow-up") continue;
    // Ever closer to it: there v grows as the root of a logarithm.
    request.end = event.t;
    request.save_at = equally_spaced(0.0, 0.9 * event.t, times_of_law);
    for (int i = 1; i <= 200; ++i) {
      request.save_at.push_back(event.t * (1 - 0.1 * std::pow(10.0, -0.05 * i)));
    }
    path = solve(rung, rung.initial, request);
    throw_if_stopped();
    break;
  }
  GrowthLaw law;
  for (std::size_t i = 0; i < path.states.size(); ++i) {
    if (!path.states[i].allFinite()) break;
    law.s.push_back(path.t[i]);
    law.v.emplace_back(path.states[i]
                           .head(frozen.target.size())
                           .reshaped(frozen.target.rows(), frozen.target.cols()));
  }
  return law;
}

NearestGrowth nearest(const GrowthLaw& law, const Matrix<double>& v) {
  std::vector<double> square;
  for (const Matrix<double>& predicted : law.v) {
    square.push_back(std::pow(miss_of(predicted, v, law.v.front()), 2));
  }
  const auto k =
      static_cast<std::size_t>(std::min_element(square.begin(), square.end()) - square.begin());
  NearestGrowth found{std::sqrt(square[k]), law.s[k], 0};
  if (k == 0 || k + 1 == square.size()) return found;
  // The least of a parabola through the squares, which are smooth where the miss is not.
  const double bend = square[k - 1] - 2 * square[k] + square[k + 1];
  const double slope = (square[k + 1] - square[k - 1]) / 2;
  const double least = std::max(0.0, square[k] - slope * slope / (2 * bend));
  found.gap = found.miss - std::sqrt(least);
  return found;
}

double miss_at(const GrowthLaw& law, const Matrix<double>& v, double t) {
  std::size_t k = 0;
  while (k + 1 < law.s.size() && law.s[k] < t) ++k;
  return miss_of(law.v[k], v, law.v.front());
}

double nearest_straight(const ClassInstance<double>& instance, const Matrix<double>& v) {
  const Matrix<double> v0 = instance.weights.topRows(instance.tokens());
  const Matrix<double> delta = initial_mean_gradient(instance);
  const double s = delta.cwiseProduct(v - v0).sum() / delta.squaredNorm();
  return miss_of(v0 + s * delta, v, v0);
}

}  // namespace popgrad::joma::checks
