#include "theorems/joma/invariant_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/fit.hpp"
#include "popgrad/identity.hpp"
#include "popgrad/joma/joint_direction.hpp"
#include "popgrad/random.hpp"
#include "theorems/joma/knobs.hpp"

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

FeatureMap<double> feature_map(const Setting& setting, Index count, Examination& result) {
  FeatureMap<double> map;
  if (const double cosine = setting.value(overlap); cosine > 0) {
    // Unit vectors of R^4 have cosines of mean square 1/4; a mixture of their Gram matrix with the
    // identity is a Gram matrix again.
    constexpr Index dimension = 4;
    Stream stream(setting.seed, stream_of_drawn_instances, 0);
    Matrix<double> u(dimension, count);
    for (double& entry : u.reshaped()) entry = stream.normal();
    u.colwise().normalize();
    map.gram = 2 * cosine * (u.transpose() * u);
    map.gram.diagonal().setOnes();
    result.hypotheses.push_back(
        {"orthonormal embeddings", Truth::no, fmt::format("cosines of order {}", cosine)});
  }
  if (const double share = setting.value(normalisation); share > 0) {
    map.normalise = true;
    map.share = share;
    result.hypotheses.push_back(
        {"f is not l2-normalised", Truth::no, fmt::format("share {} of |f|", share)});
  }
  return map;
}

Drift drift_along_flow(const ClassInstance<double>& instance, double end, double tolerance) {
  SolveRequest<double> request;
  request.end = end;
  request.save_at = equally_spaced(0.0, end, 21);
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance;
  request.find_events = false;
  request.keep_states = true;
  const PopulationFlow<double> flow(instance);
  const Trajectory<double> run = solve(forget_type(flow), request);
  if (!run.outcome.usable()) return {std::nan(""), 0};
  Drift drift;
  for (std::size_t k = 0; k < run.rows.size(); ++k) {
    drift.largest = std::max(drift.largest, run.rows[k][1]);
    drift.size = std::max(drift.size, flow.logits(run.states[k]).cwiseAbs().maxCoeff());
  }
  if (instance.attention == Attention::linear) drift.size *= drift.size;
  return drift;
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
  // So little is rounding, which has no order: nothing can be said.
  const double size = std::max(1.0, instance.logits.cwiseAbs().maxCoeff());
  constexpr double rounding = 1e4 * std::numeric_limits<double>::epsilon();
  if (*std::min_element(drifts.begin(), drifts.end()) < rounding * size) return std::nan("");
  return log_log_slope(steps, drifts);
}

void examine_drift(const Setting& setting, Attention attention, bool normalised, double enlarged,
                   Examination& result) {
  const double temperature = setting.value(attention_temperature);
  // Either law of the authors, where instances are drawn.
  const bool uniform = setting.only_what_varies && setting.seed % 2 == 0;
  const TokenLaw law = uniform ? TokenLaw::uniform : TokenLaw::gaussian;
  result.parameters = {{"law", uniform ? "uniform" : "gaussian"},
                       {"attention", attention == Attention::linear ? "linear" : "exp"},
                       {"temperature", temperature},
                       {"start", enlarged},
                       {"units", setting.count(hidden_units)},
                       {"seed", setting.seed}};
  ClassInstance<double> linear = invariant_instance(law, setting.seed);
  linear.attention = attention;
  linear.temperature = temperature;
  Parameters p("joma", {{"phi", "gelu"},
                        {"law", uniform ? "uniform" : "gaussian"},
                        {"attention", attention == Attention::linear ? "linear" : "exp"},
                        {"units", fmt::format("{}", setting.count(hidden_units))},
                        {"temperature", fmt::format("{}", temperature)}});
  ClassInstance<double> gelu = class_instance<double>(p, setting.seed);
  FeatureMap<double> map = feature_map(setting, linear.weights.rows(), result);
  map.normalise = map.normalise || normalised;
  // A search looks at more instances, for a shorter time.
  const double end = setting.only_what_varies ? 10.0 : 100.0;
  for (ClassInstance<double>* instance : {&linear, &gelu}) {
    instance->features = map;
    instance->weights *= enlarged;
    instance->logits *= enlarged;
    const Drift drift = drift_along_flow(*instance, end, 1e-13);
    // dopri5 at 1e-13 a step over some hundred steps, relative to z where that exceeds its usual 5.
    result.evidence.push_back(bounded(
        EvidenceKind::numerical,
        fmt::format("drift along flow to t = {}, phi {}", end,
                    instance == &gelu ? "gelu" : "linear"),
        drift.largest, allowance(setting, 1e-11 * std::max(1.0, drift.size / 5), drift.size),
        "100 times the tolerance per step of 1e-13"));
  }
  // A drift of the flow itself does not vanish with the step, however little it is.
  if (setting.slack > 0) return;
  linear.phi = Activation::gelu;
  // From large starts the field is steep, up to the square of f and of the weights: the same steps
  // and times in its own unit, 1 for the authors' start.
  const Vector<double> gain = (linear.logits / temperature).array().exp();
  const double f = attention == Attention::exp
                       ? (gain.asDiagonal() * linear.token_law).colwise().squaredNorm().maxCoeff()
                       : 1.0;
  const double steepness =
      std::max(1.0, f * std::max(1.0, linear.weights.squaredNorm() / (temperature * temperature)));
  const double unit = 1 / steepness;
  const double order =
      order_of_drift(linear, 20.0 * unit, {0.4 * unit, 0.2 * unit, 0.1 * unit, 0.05 * unit});
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "order of the drift of full-batch descent in its step, minus 1",
      std::fabs(order - 1.0), 0.2, "Euler is of order 1; 0.2 covers the next term at these steps"));
}

}  // namespace popgrad::theorems::joma
