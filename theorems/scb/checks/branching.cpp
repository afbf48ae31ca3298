#include "theorems/scb/checks/branching.hpp"

#include <boost/math/distributions/normal.hpp>

#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/lumped_descent.hpp"
#include "theorems/scb/rungs/reduced_flow.hpp"

namespace popgrad::scb::checks {

double normal_share(double argument) { return boost::math::cdf(boost::math::normal(), argument); }

double Branching::rate() const {
  const Bigrams<double>& b = training.bigrams;
  return growth_rate(transition_size(b), context_size(b), static_cast<double>(b.context));
}

double Branching::attention_noise() const {
  const Bigrams<double>& b = training.bigrams;
  const double share = 1 / static_cast<double>(b.context);
  const double context = context_size(b) - share;
  double sum = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k));
    sum +=
        std::pow(b.stationary[k] * levels.attention[k] / context, 2) * (law.squaredNorm() - share);
  }
  return std::pow(context / rate(), 2) * sum;
}

double Branching::attention_spread(double batch) const {
  const Bigrams<double>& b = training.bigrams;
  const auto positions = static_cast<double>(b.context);
  return positions * positions * step * b.stationary.dot(levels.attention.cwiseAbs2()) /
         (batch * rate());
}

double Branching::noise(bool values_only) const {
  const Bigrams<double>& b = training.bigrams;
  const Vector<double>& mu = b.stationary;
  const double share = 1 / static_cast<double>(b.context);
  const Matrix<double> covariance = token_covariance(mu);
  const bool constant = levels.shape == NoiseShape::constant;
  // Multiplicative: d = 1/T at the start, where <V,V> = 0 takes the noise off A.
  const double value = levels.value * (constant ? 1 : std::sqrt(share / context_size(b)));
  const double of_values =
      std::pow(value / transition_size(b), 2) * (b.transition * covariance).squaredNorm();
  return constant && !values_only ? of_values + attention_noise() : of_values;
}

double Branching::argument(double batch) const {
  const double g = rate();
  const auto positions = static_cast<double>(training.bigrams.context);
  return std::sqrt((2 + step * g) * batch / (step * g * noise())) / positions;
}

double Branching::batch(double argument) const {
  return argument * argument / std::pow(this->argument(1), 2);
}

double Branching::more_noise(double batch) const {
  if (levels.shape == NoiseShape::constant) return 0;
  const Bigrams<double>& b = training.bigrams;
  const double g = rate();
  const auto positions = static_cast<double>(b.context);
  const double noise_of_values = step * std::pow(levels.value, 2) *
                                 static_cast<double>(b.tokens() - 1) *
                                 (1 - b.stationary.squaredNorm()) /
                                 (positions * context_size(b) * batch * g);  // in <V,V>, by 1/g
  const double by_noise = noise_of_values / transition_size(b);
  const double by_drift = std::pow(positions * g, -2);
  // Means of s, s^2/2 over exp(-2 g s), the share of the noise of time s in the branch.
  return 1 / (positions * context_size(b)) +
         attention_noise() / noise() * (by_drift + by_noise / 2) +
         attention_spread(batch) * (by_drift + by_noise / 4);
}

double Branching::left_out(double batch) const {
  const auto positions = static_cast<double>(training.bigrams.context);
  const double more = more_noise(batch);
  if (!(more < 1)) return std::numeric_limits<double>::infinity();
  const double of_decay =
      (levels.shape == NoiseShape::constant ? attention_spread(batch) : 1.0) / (positions * rate());
  const double z = argument(batch);
  // z falls by half the share, which feeds on itself at most as a geometric series.
  return z * (std::exp(-z * z / 2) * of_decay +
              boost::math::pdf(boost::math::normal(), z) * more / (1 - more) / 2);
}

Index counted(double batch) {
  // The nearest double to the largest count is beyond it.
  if (!(batch < static_cast<double>(std::numeric_limits<Index>::max()))) {
    throw Failure(fmt::format("a batch of {:.3g} samples is more than can be counted", batch));
  }
  return std::llround(batch);
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
  request.batch = std::max<Index>(1, counted(batch));
  request.runs = runs;
  request.first_run = first_run;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  std::uint32_t right = 0;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    right += !run.rows.empty() && run.column("alpha_V").back() > 0 ? 1U : 0U;
  }
  Quantity share = success_probability(right, runs, setting.false_alarm);
  share.add(ErrorPart::next_order(left_out(batch)));
  return share;
}

}  // namespace popgrad::scb::checks
