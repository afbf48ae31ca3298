#include "theorems/joma/checks/approach.hpp"

#include <boost/math/quadrature/gauss_kronrod.hpp>

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

double late_clock(const ReducedInstance<double>& instance, Index clock_token, double late) {
  const AnyRung<double> rung = approach_of(instance, clock_token);
  for (double end = late;; end *= 2) {
    const Solved run(rung, {end}, 1e-12);
    if (run.state(0).head(instance.tokens()).minCoeff() >= late) return end;
  }
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

Record parameters_of(const ReducedInstance<double>& instance, const Setting& setting) {
  return {{"mu", std::vector<double>(instance.target.data(),
                                     instance.target.data() + instance.target.size())},
          {"units", instance.units()},
          {"tau", instance.tau},
          {"seed", setting.seed}};
}

}  // namespace popgrad::joma::checks
