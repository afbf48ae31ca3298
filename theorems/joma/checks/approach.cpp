#include "theorems/joma/checks/approach.hpp"

#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {

AnyRung<double> approach_of(const ReducedInstance<double>& instance, Index clock_token) {
  const Index d = instance.tokens();
  AnyRung<double> rung;
  rung.dimension = d + 1;
  rung.initial = Vector<double>::Zero(d + 1);
  for (Index l = 0; l < d; ++l) rung.observables.columns.push_back(fmt::format("y_{}", l));
  rung.observables.columns.emplace_back("s");
  rung.state_names = rung.observables.columns;
  rung.observables.read = [](const Vector<double>& y, const double&, std::span<double> row) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = y[static_cast<Index>(i)];
  };
  rung.field.value = [instance, clock_token, d](const Vector<double>& y, Vector<double>& slope,
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

std::vector<std::vector<Quantity>> logarithms_of(const ReducedInstance<double>& instance,
                                                 Index clock_token,
                                                 const std::vector<double>& clock) {
  const AnyRung<double> rung = approach_of(instance, clock_token);
  const Solved run(rung, clock, 1e-12);
  const Solved rougher(rung, clock, 1e-11);
  std::vector<std::vector<Quantity>> values(clock.size());
  for (std::size_t k = 0; k < clock.size(); ++k) {
    for (Index l = 0; l < instance.tokens(); ++l) {
      values[k].push_back(run.at(k, [l](const Vector<double>& y) { return y[l]; }));
      values[k].back().add(ErrorPart::solver(run.state(k)[l], rougher.state(k)[l]));
    }
  }
  return values;
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
  Comparison same = equal("`ln(delta(0)/delta)` along the flow, all weights");
  for (std::size_t k = 0; k < times.size(); ++k) {
    const Quantity time = logs.at(k, [d](const Vector<double>& y) { return y[d]; });
    const Vector<double> v = weights_after(instance, logs.state(k));
    for (Index i = 0; i < v.size(); ++i) {
      const Index l = i % d;
      if (logs.state(k)[l] > furthest) continue;
      const double mu = instance.target.reshaped()[i];
      const double way = mu - instance.start.reshaped()[i];
      if (way == 0) continue;  // and stays so
      Quantity measured =
          flow.at(k, [&](const Vector<double>& x) { return std::log(way / (mu - x[i])); });
      measured.add(ErrorPart::rounding(1, mu / (mu - v[i])));
      // What the time is off by, at the rate of the token.
      const double rate =
          std::exp(v.reshaped(d, instance.units()).row(l).squaredNorm() / instance.tau);
      const auto own = [l](const Vector<double>& y) { return y[l]; };
      same.add(fmt::format("weight {} of token {}, `s = {:.3g}`", i / d, l, times[k]), measured,
               logs.at(k, own) + mapped(time, 0, rate));
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

Record parameters_of(const ReducedInstance<double>& instance, const Setting& setting) {
  return {{"mu", numbers_of(instance.target)},
          {"units", instance.units()},
          {"tau", instance.tau},
          {"seed", setting.seed}};
}

}  // namespace popgrad::joma::checks
