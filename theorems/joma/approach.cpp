#include "theorems/joma/approach.hpp"

#include <fmt/format.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>

#include "popgrad/identity.hpp"
#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/solved.hpp"

namespace popgrad::theorems::joma {

using popgrad::joma::ReducedFlow;

AnyRung<double> approach_of(const ReducedInstance<double>& instance, Index clock_token) {
  const Index d = instance.tokens();
  AnyRung<double> rung;
  rung.dimension = d + 1;
  rung.initial = Vector<double>::Zero(d + 1);
  for (Index l = 0; l < d; ++l) rung.state_names.push_back(fmt::format("y_{}", l));
  rung.state_names.emplace_back("s");
  rung.columns = rung.state_names;
  rung.observe = [](const Vector<double>& y, const double&, std::span<double> row) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = y[static_cast<Index>(i)];
  };
  rung.rhs = [instance, clock_token, d](const Vector<double>& y, Vector<double>& slope,
                                        const double&) {
    const auto square = [&](Index l) {
      const auto mu = instance.target.row(l);
      return (mu - std::exp(-y[l]) * (mu - instance.start.row(l))).squaredNorm() / instance.tau;
    };
    const double of_clock = square(clock_token);
    for (Index l = 0; l < d; ++l) slope[l] = std::exp(square(l) - of_clock);
    slope[d] = std::exp(-of_clock);
  };
  return rung;
}

Vector<double> weights_after(const ReducedInstance<double>& instance, const Vector<double>& y) {
  Matrix<double> v = instance.start;
  for (Index l = 0; l < instance.tokens(); ++l) {
    v.row(l) -= std::expm1(-y[l]) * (instance.target.row(l) - instance.start.row(l));
  }
  return v.reshaped();
}

Index weakest_token(const ReducedInstance<double>& instance) {
  Index token = 0;
  instance.target.rowwise().squaredNorm().minCoeff(&token);
  return token;
}

Index strongest_token(const ReducedInstance<double>& instance) {
  Index token = 0;
  instance.target.rowwise().squaredNorm().maxCoeff(&token);
  return token;
}

Quantity late_constant(const ReducedInstance<double>& instance, Index token) {
  const Vector<double> mu = instance.target.row(token).transpose();
  const Vector<double> way = mu - instance.start.row(token).transpose();
  const double first = 2 * mu.dot(way) / instance.tau;
  const double second = way.squaredNorm() / instance.tau;
  const auto integrand = [&](double u) { return -std::expm1((first - second * u) * u) / u; };
  // The nodes lie inside (0, 1). Bisected until the two rules agree to all but a few roundings.
  constexpr unsigned bisections = 12;
  double apart = 0;
  using Rule = boost::math::quadrature::gauss_kronrod<double, 31>;
  const double value = Rule::integrate(integrand, 0.0, 1.0, bisections,
                                       64 * std::numeric_limits<double>::epsilon(), &apart);
  return {value, {ErrorPart::enclosure(apart)}};
}

double first_logarithm(const ReducedInstance<double>& instance, Index token) {
  Index unit = 0;
  instance.target.row(token).cwiseAbs().maxCoeff(&unit);
  return -std::log(std::fabs(1 - instance.start(token, unit) / instance.target(token, unit)));
}

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
  const Solved logs(approach_of(instance, strongest_token(instance)), {1, 2, 4, 8}, tolerance);
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
  return same;
}

Record told(const ReducedInstance<double>& instance, const Setting& setting) {
  return {{"mu", std::vector<double>(instance.target.data(),
                                     instance.target.data() + instance.target.size())},
          {"units", instance.units()},
          {"tau", instance.tau},
          {"seed", setting.seed}};
}

}  // namespace popgrad::theorems::joma
