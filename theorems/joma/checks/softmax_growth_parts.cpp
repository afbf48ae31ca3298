#include "theorems/joma/checks/softmax_growth_parts.hpp"

#include "popgrad/solving/solve.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/rung_parts.hpp"

namespace popgrad::joma::checks {

namespace {

constexpr std::size_t times_of_law = 401;

double miss_of(const Matrix<double>& predicted, const Matrix<double>& v, const Matrix<double>& v0) {
  return (predicted - v).norm() / (v - v0).norm();
}

// State v (M_C x K) by columns, then z.
AnyRung<double> rung_of_law(const ClassInstance<double>& instance, Attention attention,
                            double halves) {
  const Index d = instance.tokens();
  const Index n = d * instance.units();
  AnyRung<double> rung;
  rung.dimension = n + d;
  std::vector<std::string> names;
  add_weight_names(d, instance.units(), false, names);
  add_logit_names(d, names);
  rung.state_names = std::move(names);
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  rung.initial.resize(n + d);
  rung.initial << instance.weights.topRows(d).reshaped(), instance.logits;
  rung.field.value = [d, n, halves, softmax = attention == Attention::softmax,
                      temperature = instance.temperature, delta = initial_mean_gradient(instance),
                      mean = Vector<double>(instance.token_law * instance.class_law)](
                         const Vector<double>& x, Vector<double>& slope, const double&) {
    Vector<double> a = (x.tail(d) / temperature).array().exp();
    if (softmax) a /= mean.dot(a);
    const Matrix<double> rate = a.asDiagonal() * delta;
    Vector<double> squares = x.head(n).reshaped(d, delta.cols()).cwiseProduct(rate).rowwise().sum();
    if (softmax) squares -= Vector<double>(squares.sum() * mean.cwiseProduct(a));
    slope.head(n) = rate.reshaped();
    slope.tail(d) = 2 * halves / temperature * squares;
  };
  return rung;
}

}  // namespace

GrowthRun growth_run(const ClassInstance<double>& instance, std::uint64_t steps,
                     std::uint64_t every, const std::vector<double>& until) {
  const PopulationFlow<double> flow(instance);
  const Index d = instance.tokens();
  const Vector<double> mean = instance.token_law * instance.class_law;
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  const auto zero = Matrix<double>::Zero(d, instance.units());
  Matrix<double> attended = zero;
  Matrix<double> unattended = zero;
  Matrix<double> doubled = zero;
  GrowthRun run;
  auto next = until.begin();
  for (std::uint64_t step = 1; step <= steps && next != until.end(); ++step) {
    throw_if_stopped();
    const Matrix<double> gradient = flow.mean_gradient(x);
    const auto add = [&](Matrix<double>& way, const Vector<double>& logits) {
      const Vector<double> a = (logits / instance.temperature).array().exp();
      way += growth_step / mean.dot(a) * (a.asDiagonal() * gradient);
    };
    const Vector<double> z = flow.logits(x);
    add(attended, z);
    add(unattended, instance.logits);
    add(doubled, 2 * z - instance.logits);
    flow.rhs(x, slope, 0.0);
    x += growth_step * slope;
    if (!x.allFinite()) throw Failure("descent diverges: take a smaller step");
    const auto v = x.head(instance.weights.size())
                       .reshaped(instance.weights.rows(), instance.units())
                       .topRows(d);
    const Vector<double> squares = v.rowwise().squaredNorm();
    const double range = (squares.maxCoeff() - squares.minCoeff()) /
                         (2 * instance.temperature * instance.temperature);
    if (step % every != 0 && range < *next) continue;
    if (range >= *next) ++next;
    run.step.push_back(static_cast<double>(step));
    run.range.push_back(range);
    run.v.emplace_back(v);
    run.attended.push_back(attended);
    run.unattended.push_back(unattended);
    run.doubled.push_back(doubled);
  }
  return run;
}

GrowthLaw growth_law(const ClassInstance<double>& instance, Attention attention, double end,
                     double halves, double tolerance) {
  const AnyRung<double> rung = rung_of_law(instance, attention, halves);
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
                           .head(instance.tokens() * instance.units())
                           .reshaped(instance.tokens(), instance.units()));
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

double miss_at_best_rate(const Matrix<double>& way, const Matrix<double>& v,
                         const Matrix<double>& v0) {
  const double rate = way.cwiseProduct(v - v0).sum() / way.squaredNorm();
  return miss_of(v0 + rate * way, v, v0);
}

double nearest_straight(const ClassInstance<double>& instance, const Matrix<double>& v) {
  const Vector<double> a = (instance.logits / instance.temperature).array().exp();
  return miss_at_best_rate(a.asDiagonal() * initial_mean_gradient(instance), v,
                           instance.weights.topRows(instance.tokens()));
}

}  // namespace popgrad::joma::checks
