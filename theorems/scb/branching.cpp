#include "theorems/scb/branching.hpp"

#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "popgrad/ensemble.hpp"
#include "popgrad/rung.hpp"
#include "popgrad/scb/geometry.hpp"
#include "popgrad/scb/lumped_descent.hpp"
#include "popgrad/scb/reduced_flow.hpp"
#include "popgrad/walk.hpp"

namespace popgrad::theorems::scb {

using namespace popgrad::scb;

double normal_share(double argument) { return boost::math::cdf(boost::math::normal(), argument); }

double Branching::rate() const {
  const Bigrams<double>& b = training.bigrams;
  return growth_rate(transition_size(b), context_size(b), static_cast<double>(b.context));
}

double Branching::noise(bool values_only) const {
  const Bigrams<double>& b = training.bigrams;
  const Vector<double>& mu = b.stationary;
  const double share = 1 / static_cast<double>(b.context);
  const double transition = transition_size(b);
  const double context = context_size(b) - share;
  const Matrix<double> covariance = Matrix<double>(mu.asDiagonal()) - mu * mu.transpose();
  const bool constant = levels.shape == NoiseShape::constant;
  // Multiplicative: d = 1/T at the start, where <V,V> = 0 takes the noise off A.
  const double value = levels.value * (constant ? 1 : std::sqrt(share / context_size(b)));
  const double of_values =
      std::pow(value / transition, 2) * (b.transition * covariance).squaredNorm();
  if (!constant || values_only) return of_values;
  double of_attention = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k));
    of_attention +=
        std::pow(mu[k] * levels.attention[k] / context, 2) * (law.squaredNorm() - share);
  }
  return of_values + std::pow(context / rate(), 2) * of_attention;
}

double Branching::argument(double batch) const {
  const double g = rate();
  const auto positions = static_cast<double>(training.bigrams.context);
  return std::sqrt((2 + step * g) * batch / (step * g * noise())) / positions;
}

double Branching::batch(double argument) const {
  return argument * argument / std::pow(this->argument(1), 2);
}

Quantity Branching::right_share(double batch, std::uint32_t runs, std::uint32_t first_run,
                                const Setting& setting) const {
  const double g = rate();
  const auto positions = static_cast<double>(training.bigrams.context);
  const AnyRung<double> rung = forget_type(LumpedDescent(training, levels));
  WalkRequest request;
  request.step_size = step;
  // Until noise of the size of the drift has grown to order one, and the branch is decided.
  request.steps = static_cast<std::uint64_t>(std::ceil((std::log(positions) + 3) / (g * step)));
  request.save_steps = {request.steps};
  request.batch = std::max<Index>(1, std::llround(batch));
  request.runs = runs;
  request.first_run = first_run;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  std::uint32_t right = 0;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    right += !run.rows.empty() && run.rows.back()[0] > 0 ? 1U : 0U;
  }
  Quantity share = success_probability(right, runs, setting.false_alarm);
  // Left out of the decay of V and of its noise, both of which go with d = 1/T + ...: over the time
  // 1/g in which the branch is decided, constant noise of A adds T eta sigma_A^2/(B g) to d, and
  // multiplicative noise is increased by K_Q alpha_A^2, alpha_A = K_P/(T g^2).
  const Bigrams<double>& b = training.bigrams;
  const double mean_square = levels.attention.squaredNorm() / static_cast<double>(b.tokens());
  const double decay = levels.shape == NoiseShape::constant
                           ? positions * step * mean_square / (batch * g * g)
                           : 1 / (positions * context_size(b)) + 1 / (positions * g);
  const double z = argument(batch);
  share.add(ErrorPart::next_order(z * decay * std::exp(-z * z / 2)));
  return share;
}

}  // namespace popgrad::theorems::scb
