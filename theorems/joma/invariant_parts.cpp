#include "theorems/joma/invariant_parts.hpp"

#include "popgrad/fit.hpp"
#include "popgrad/identity.hpp"
#include "popgrad/joma/joint_direction.hpp"

namespace popgrad::theorems::joma {

using namespace popgrad::joma;

SymbolicTraining symbolic_training(Attention attention, Index tokens, Index units, Index samples,
                                   bool normalise) {
  SymbolicTraining s;
  const Index rows = tokens + 1;
  const Matrix<Expression> v = symbols("v", rows, units);
  const Matrix<Expression> x = symbols("x", tokens, samples);
  s.z = symbols("z", tokens);
  s.weight = symbols("p", samples);
  s.pulled = symbols("g", units, samples);
  s.temperature = symbol("T");
  JointWorkspace<Expression> work;
  FeatureMap<Expression> map;
  map.normalise = normalise;
  Matrix<Expression> dv(rows, units);
  s.dz = Vector<Expression>::Constant(tokens, Expression(0));
  hidden_preactivations(attention, map, s.temperature, v, s.z, x, work);
  joint_direction(attention, map, s.temperature, v, x, s.pulled, s.weight, work, dv, s.dz);
  s.b = work.b;
  s.v = v.topRows(tokens);
  s.dv = dv.topRows(tokens);
  s.unknowns.resize(s.v.size() + tokens);
  s.rates.resize(s.v.size() + tokens);
  s.unknowns << s.v.reshaped(), s.z;
  s.rates << s.dv.reshaped(), s.dz;
  return s;
}

double drift_along_flow(const ClassInstance<double>& instance, double end, double tolerance) {
  SolveRequest<double> request;
  request.end = end;
  request.save_at = equally_spaced(0.0, end, 21);
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance;
  request.find_events = false;
  const Trajectory<double> run = solve(forget_type(PopulationFlow<double>(instance)), request);
  if (!run.outcome.usable()) return std::nan("");
  double largest = 0;
  for (const std::vector<double>& row : run.rows) largest = std::max(largest, row[1]);
  return largest;
}

double drift_along_descent(const ClassInstance<double>& instance, double end, double step) {
  const PopulationFlow<double> flow(instance);
  Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  const auto steps = static_cast<long>(std::llround(end / step));
  for (long k = 0; k < steps; ++k) {
    flow.rhs(x, slope, 0.0);
    x += step * slope;
  }
  std::vector<double> row(flow.columns().size());
  flow.observe(x, end, row);
  return row[1];
}

double order_of_drift(const ClassInstance<double>& instance, double end,
                      const std::vector<double>& steps) {
  std::vector<double> drifts;
  for (const double step : steps) drifts.push_back(drift_along_descent(instance, end, step));
  return log_log_slope(steps, drifts);
}

}  // namespace popgrad::theorems::joma
