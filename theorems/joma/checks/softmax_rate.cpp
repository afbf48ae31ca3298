#include "theorems/joma/checks/softmax_rate.hpp"

#include "popgrad/scalars/dual.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/checks/softmax_terms.hpp"
#include "theorems/joma/rungs/invariant.hpp"
#include "theorems/joma/rungs/joint_direction.hpp"

namespace popgrad::joma::checks {
namespace {

template <class T>
Matrix<T> contextual(const ClassInstance<double>& instance, const Vector<T>& state) {
  return Eigen::Map<const Matrix<T>>(state.data(), instance.weights.rows(), instance.units())
      .topRows(instance.tokens());
}

// T R' along the field.
Vector<double> measured_rate(const PopulationFlow<double>& flow, const Vector<double>& state,
                             const Vector<double>& slope) {
  using Moving = Dual<double>;
  const ClassInstance<double>& instance = flow.instance();
  Vector<Moving> moving(state.size());
  for (Index i = 0; i < state.size(); ++i) moving[i] = Moving(state[i], slope[i]);
  const Vector<Moving> residual = invariant<Moving>(
      Attention::softmax, contextual(instance, moving), moving.tail(instance.tokens()),
      Moving(instance.temperature), flow.cast<Moving>().mean_attention(moving));
  Vector<double> rate(residual.size());
  for (Index l = 0; l < rate.size(); ++l) rate[l] = instance.temperature * residual[l].slope;
  return rate;
}

// g_k phi' of every class (K x C) from W'f: the gradient of the mean log-likelihood.
Matrix<double> pulled_back(const ClassInstance<double>& instance, const Matrix<double>& hidden) {
  const bool decoded = instance.decoder.size() > 0;
  const Matrix<double> active =
      hidden.unaryExpr([&](double h) { return activate(instance.phi, h); });
  const Matrix<double> logits = decoded ? Matrix<double>(instance.decoder * active) : active;
  // A noisy label is drawn uniformly.
  const double noise = instance.label_noise;
  Matrix<double> error = Matrix<double>::Constant(logits.rows(), logits.cols(),
                                                  noise / static_cast<double>(logits.rows()));
  error.diagonal().array() += 1 - noise;
  for (Index c = 0; c < logits.cols(); ++c) {
    error.col(c) -= softmax<double>(Vector<double>(logits.col(c)));
  }
  const Matrix<double> back =
      decoded ? Matrix<double>(instance.decoder.transpose() * error) : error;
  return back.cwiseProduct(
      hidden.unaryExpr([&](double h) { return activation_slope(instance.phi, h); }));
}

// Sums of absolute values of everything that is added up in T R', the largest over tokens.
double size_of_terms(const Matrix<double>& v, const Matrix<double>& b, const Matrix<double>& pulled,
                     const Vector<double>& weight, const Vector<double>& drift) {
  const Matrix<double> size = v.cwiseAbs();
  const Matrix<double> gradient = pulled.cwiseAbs();
  const SoftmaxTerms<double> terms =
      softmax_terms<double>(b, weight, gradient, size.transpose() * b);
  const Matrix<double> moments = b * weight.asDiagonal() * gradient.transpose();
  const Vector<double> products = size.cwiseProduct(moments).rowwise().sum();
  return (drift.cwiseAbs() + terms.joint + terms.mean_attention * terms.mean_q + products)
      .maxCoeff();
}

}  // namespace

SoftmaxRate softmax_rate(const PopulationFlow<double>& flow, const Vector<double>& state) {
  const ClassInstance<double>& instance = flow.instance();
  const double temperature = instance.temperature;
  const Vector<double> z = flow.logits(state);
  Vector<double> slope(state.size());
  flow.rhs(state, slope, 0.0);
  const Matrix<double> v = contextual(instance, state);

  JointWorkspace<double> work;
  const Matrix<double> all_weights =
      Eigen::Map<const Matrix<double>>(state.data(), instance.weights.rows(), instance.units());
  hidden_preactivations(Attention::softmax, instance.features, temperature, all_weights, z,
                        instance.token_law, work);
  const Matrix<double> pulled = pulled_back(instance, work.hidden);
  const Vector<double>& weight = instance.class_law;
  // The Jacobian of softmax is symmetric: it gives b' from z' as well.
  Vector<double> mean_rate = Vector<double>::Zero(z.size());
  const Matrix<double> logit_rate = slope.tail(z.size()).replicate(1, weight.size());
  add_attention_pullback(Attention::softmax, work.b, instance.token_law, logit_rate, weight,
                         temperature, mean_rate);

  SoftmaxRate rate;
  rate.defect = softmax_terms<double>(work.b, weight, pulled, v.transpose() * work.b).defect();
  rate.defect_with_query = softmax_terms<double>(work.b, weight, pulled, work.hidden).defect();
  rate.drift = v.squaredNorm() / 2 * mean_rate;
  // b has the relative error of its exponents, as many roundings as they are large.
  const double operations =
      static_cast<double>(instance.tokens() + instance.units() + instance.classes()) *
      (1 + z.cwiseAbs().maxCoeff() / temperature);
  const double size = size_of_terms(v, work.b, pulled, weight, rate.drift);
  const Vector<double> measured = measured_rate(flow, state, slope);
  for (Index l = 0; l < z.size(); ++l) {
    rate.measured.push_back({measured[l], {ErrorPart::rounding(operations, size)}});
  }
  return rate;
}

}  // namespace popgrad::joma::checks
