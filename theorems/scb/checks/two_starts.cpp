#include "theorems/scb/checks/two_starts.hpp"

#include <array>

#include "popgrad/evidence/examination.hpp"
#include "theorems/scb/checks/family.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::checks {
namespace {

constexpr double tolerance = 1e-11;  // of the solves

void start_uniform(Training<double>& training) {
  training.start.setConstant(1 / static_cast<double>(training.bigrams.tokens()));
}

void start_stationary(Training<double>& training) {
  const Vector<double>& mu = training.bigrams.stationary;
  training.start = mu * Vector<double>::Ones(mu.size()).transpose();
}

double observed(const AnyRung<double>& rung, const Vector<double>& x, std::size_t column) {
  std::vector<double> row(rung.observables.columns.size());
  rung.observables.read(x, 0.0, row);
  return row[column];
}

}  // namespace

ProjectedRuns projected_runs(Training<double> training) {
  const Bigrams<double>& b = training.bigrams;
  const Vector<double>& mu = b.stationary;
  const Index n = b.tokens();
  training.project = true;
  start_stationary(training);
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(training));
  const std::vector<double> times = times_of_growth(training, 0);
  start_uniform(training);
  const Solved usual(rung, times, tolerance);
  const Solved uniform(forget_type(PopulationFlow<double>(training)), times, tolerance);
  const Vector<double> offset = training.start.col(0) - mu;  // w
  const auto column = [&](std::size_t which) {
    return [&, which](const Vector<double>& x) { return observed(rung, x, which); };
  };
  ProjectedRuns runs;
  for (std::size_t save = 0; save < times.size(); ++save) {
    const Vector<double>& other = usual.state(save);
    const auto apart = [&](const Vector<double>& x) {
      const Matrix<double> gap = (x - other).head(n * n).reshaped(n, n);
      return std::sqrt(stationary_square(gap, mu)) / offset.norm();
    };
    const Quantity value = usual.at(save, column(0));
    const Quantity attention = usual.at(save, column(1));
    Quantity distance = uniform.at(save, apart);
    // The solve of the other run counts as well.
    distance.add(
        ErrorPart::solver(value.error() * std::sqrt(transition_size(b)) / offset.norm(), 0));
    runs.measured.push_back(distance);
    runs.measured.push_back(uniform.at(save, column(0)) / value);
    runs.measured.push_back(uniform.at(save, column(1)) / attention);
    // <w1', P> with D in place of C is w.mu.
    const double felt = offset.dot(mu) / transition_size(b);
    runs.felt.insert(runs.felt.end(), {1.0, 1 + felt / value.value(), 1.0});
    for (const char* what : {"V", "alpha_V", "alpha_A"}) {
      runs.places.push_back(fmt::format("{}, {}", what, usual.places()[save]));
    }
  }
  return runs;
}

std::vector<Quantity> turning(Training<double> training) {
  Bigrams<double>& b = training.bigrams;
  const Vector<double>& mu = b.stationary;
  const Index n = b.tokens();
  const double root = std::sqrt(static_cast<double>(n));
  const double rate = static_cast<double>(n) * mu.squaredNorm();
  training.project = false;
  start_uniform(training);
  const auto mean_value = [&](const Vector<double>& x) {
    return Vector<double>(x.head(n * n).reshaped(n, n) * mu);
  };
  const auto cosine = [&](const Vector<double>& u) { return u.dot(mu) / (u.norm() * mu.norm()); };
  // Of the angle from mu, from the component across: mu may be nearly uniform.
  const auto tangent = [&](const Vector<double>& u) {
    const double along = u.dot(mu) / mu.squaredNorm();
    return (u - along * mu).norm() / (along * mu.norm());
  };
  const double at_first = tangent(Vector<double>::Constant(n, 1 / static_cast<double>(n)));
  const Quantity first = log(Quantity(at_first, {ErrorPart::rounding(static_cast<double>(n), 1)}));
  std::vector<double> shortness;
  std::array<std::vector<Quantity>, 3> found;
  // S follows at the rate T |V mu|^2 = T/N what turns at `rate`; a limit in 1/T shows from where that
  // is fast.
  const auto fast = std::llround(std::ceil(static_cast<double>(n) * rate / noticed_share));
  const Index shortest = std::max<Index>(b.context, fast);
  for (const double part : falling_parameters(1, 2, 3)) {
    b.context = std::lround(static_cast<double>(shortest) / part);
    const AnyRung<double> rung = forget_type(PopulationFlow<double>(training));
    const Solved run(rung, {1 / rate}, tolerance);
    shortness.push_back(1 / static_cast<double>(b.context));
    found[0].push_back(Quantity(rate) * (first - run.at(0, [&](const Vector<double>& x) {
                         return std::log(tangent(mean_value(x)));
                       })));
    found[1].push_back(
        run.at(0, [&](const Vector<double>& x) { return root * mean_value(x).norm(); }));
    found[2].push_back(run.at(0, [&](const Vector<double>& x) {
      return observed(rung, x, 5) / (root * mu.norm() * cosine(mean_value(x)));
    }));
  }
  std::vector<Quantity> limits;
  for (const auto& values : found) limits.push_back(limit_in(shortness, values));
  return limits;
}

}  // namespace popgrad::scb::checks
