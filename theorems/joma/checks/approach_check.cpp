#include "theorems/joma/checks/approach.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {

Truth gain_is_the_rate() {
  ReducedInstance<Expression> generic;
  generic.nonlinear = true;
  generic.target = symbols("m", 2, 2);
  generic.start = symbols("v", 2, 2);
  generic.logits = symbols("z", 2);
  generic.tau = symbol("tau");
  const Vector<Expression> v = generic.start.reshaped();
  Vector<Expression> slope(v.size());
  ReducedFlow<Expression>(generic).rhs(v, slope, Expression(0));
  Matrix<Expression> left(v.size(), 1);
  for (Index i = 0; i < v.size(); ++i) {
    const Expression delta = 1 - v[i] / generic.target.reshaped()[i];
    const Expression square = v[i % 2] * v[i % 2] + v[i % 2 + 2] * v[i % 2 + 2];
    left(i, 0) = -rate_along(delta, v, slope) / delta - GiNaC::exp(square / generic.tau);
  }
  return vanishes(left);
}

Comparison flow_in_logarithms(const ReducedInstance<double>& instance) {
  constexpr double tolerance = 1e-12;
  const Index d = instance.tokens();
  constexpr double furthest = 8;  // 1 - v/mu keeps most of its digits up to e^-8
  const Solved logs(approach_of(instance, strongest_token(instance)),
                    {furthest / 8, furthest / 4, furthest / 2, furthest}, tolerance);
  std::vector<double> times;
  for (std::size_t k = 0; k < logs.size(); ++k) times.push_back(logs.state(k)[d]);
  const Solved flow(forget_type(ReducedFlow<double>(instance)), times, tolerance);
  Comparison same;
  same.what = "ln(delta(0)/delta) along the flow, all weights";
  for (std::size_t k = 0; k < times.size(); ++k) {
    const Quantity time = logs.at(k, [d](const Vector<double>& y) { return y[d]; });
    const Vector<double> v = weights_after(instance, logs.state(k));
    for (Index i = 0; i < v.size(); ++i) {
      const Index l = i % d;
      if (logs.state(k)[l] > furthest) continue;
      const double mu = instance.target.reshaped()[i];
      const double way = mu - instance.start.reshaped()[i];
      Quantity measured =
          flow.at(k, [&](const Vector<double>& x) { return std::log(way / (mu - x[i])); });
      measured.add(ErrorPart::rounding(1, mu / (mu - v[i])));
      same.measured.push_back(measured);
      // What the time is off by, at the rate of the token.
      const double rate =
          std::exp(v.reshaped(d, instance.units()).row(l).squaredNorm() / instance.tau);
      same.predicted.push_back(logs.at(k, [l](const Vector<double>& y) { return y[l]; }) +
                               mapped(time, 0, rate));
      same.places.push_back(fmt::format("weight {} of token {}, s = {:.3g}", i / d, l, times[k]));
    }
  }
  // Two solves may agree by accident at one place: all have the largest difference of any.
  double apart = 0;
  for (std::size_t i = 0; i < same.measured.size(); ++i) {
    apart = std::fmax(apart, (same.measured[i] - same.predicted[i]).error("solver"));
  }
  for (Quantity& measured : same.measured) measured.add(ErrorPart::solver(0, apart));
  return same;
}

}  // namespace popgrad::joma::checks
