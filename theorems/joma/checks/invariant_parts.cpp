#include "theorems/joma/checks/invariant_parts.hpp"

#include "popgrad/scalars/dual.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/joint_direction.hpp"

namespace popgrad::joma::checks {

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

Truth is_conserved(const SymbolicTraining& training, const Vector<Expression>& entries) {
  Matrix<Expression> rates(entries.size(), 1);
  for (Index l = 0; l < entries.size(); ++l) {
    rates(l, 0) = rate_along(entries[l], training.unknowns, training.rates);
  }
  return vanishes(rates);
}

namespace {

// Unit vectors of R^4 have cosines of mean square 1/4; a mixture of their Gram matrix with the
// identity is a Gram matrix again.
Matrix<double> overlapping_gram(Index count, double cosine, std::uint64_t seed) {
  constexpr Index dimension = 4;
  Stream stream(seed, stream_of_drawn_instances, 0);
  Matrix<double> u(dimension, count);
  for (double& entry : u.reshaped()) entry = stream.normal();
  u.colwise().normalize();
  Matrix<double> gram = 2 * cosine * (u.transpose() * u);
  gram.diagonal().setOnes();
  return gram;
}

ClassInstance<double> drawn_instance(const Setting& setting, Attention attention, double enlarged) {
  Parameters p("joma");
  p.set("law", setting.count(token_law_of_authors) == 0 ? "gaussian" : "uniform");
  p.set("phi", setting.count(activation) == 0 ? "linear" : "gelu");
  p.set("units", fmt::format("{}", setting.count(hidden_units)));
  ClassInstance<double> instance = class_instance<double>(p, setting.seed);
  instance.attention = attention;
  instance.temperature = setting.value(attention_temperature);
  instance.weights *= enlarged;
  instance.logits *= enlarged;
  if (const double cosine = setting.value(overlap); cosine > 0) {
    hand_over_none("embeddings that are not orthogonal are not in an instance file");
    instance.features.gram = overlapping_gram(instance.weights.rows(), cosine, setting.seed);
  }
  if (const double share = setting.value(normalisation); share > 0) {
    hand_over_none("f that is normalised in part is not in an instance file");
    instance.features.normalise = true;
    instance.features.share = share;
  }
  return instance;
}

}  // namespace

ClassInstance<double> training_instance(const Setting& setting, Attention attention,
                                        double enlarged) {
  return examined(setting, class_instance<double>,
                  [&] { return drawn_instance(setting, attention, enlarged); });
}

bool require_hypotheses(const ClassInstance<double>& instance, const Setting& setting,
                        Attention attention, const Hypothesis& of_attention, Examination& it) {
  it.parameters = {{"tokens", instance.tokens()},
                   {"units", instance.units()},
                   {"temperature", instance.temperature},
                   {"seed", setting.seed}};
  const bool of_this =
      it.require(of_attention, instance.attention == attention, "of the instance: attention");
  const Matrix<double>& gram = instance.features.gram;
  const double cosine =
      gram.size() == 0
          ? 0.0
          : (gram - Matrix<double>::Identity(gram.rows(), gram.cols())).cwiseAbs().maxCoeff();
  it.require(orthonormal, -cosine, fmt::format("largest |cosine| {:.3g}", cosine));
  const double share = instance.features.normalise ? instance.features.share : 0.0;
  it.require(not_normalised, -share, fmt::format("share {:.3g} of `|f|`", share));
  return of_this;
}

double time_unit(const PopulationFlow<double>& flow) {
  using Moving = Dual<double>;
  const Vector<double> x = flow.initial();
  Vector<double> slope(x.size());
  flow.rhs(x, slope, 0.0);
  Vector<Moving> moving(x.size());
  for (Index i = 0; i < x.size(); ++i) moving[i] = Moving(x[i], slope[i]);
  Vector<Moving> bent(x.size());
  flow.cast<Moving>().rhs(moving, bent, Moving(0.0));
  double change = 0;
  for (const Moving& rate : bent) change += rate.slope * rate.slope;
  double unit = slope.norm() / std::sqrt(change);
  if (x.norm() > 0) unit = std::min(unit, x.norm() / slope.norm());
  if (!(unit > 0) || !std::isfinite(unit)) {
    throw Failure("the start is at rest, or moves at one rate: nothing to compare");
  }
  return unit;
}

}  // namespace popgrad::joma::checks
