#include "theorems/scb/checks/one_step.hpp"

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/sampled_runs.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::checks {

Training<double> correlated_start(Training<double> fresh, const Knob& correlation,
                                  const Setting& setting) {
  const double lost = setting.value(lost_correlation);
  fresh.start = transfer_start(fresh.bigrams, setting.value(kernel_size),
                               lost < 0 ? lost : setting.value(correlation), setting.seed);
  return fresh;
}

double log_found(const Bigrams<double>& b, const NoiseLevels& levels, double scale) {
  double sum = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const double z = scale / levels.attention[k];
    sum += static_cast<double>(b.context - b.support(k)) * std::log1p(-normal_share(-z));
    const auto law = b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k));
    for (const double q : law) sum += std::log(normal_share((2 * q / b.law.minCoeff() - 1) * z));
  }
  return sum;
}

double scale_for(const Bigrams<double>& b, const NoiseLevels& levels, double level) {
  double low = 0;
  double high = 40 * levels.attention.maxCoeff();  // Phi(-40) < 1e-300
  for (int halvings = 0; halvings < 60; ++halvings) {
    const double middle = (low + high) / 2;
    (log_found(b, levels, middle) < std::log(level) ? low : high) = middle;
  }
  return high;
}

Quantity found_probability(const Bigrams<double>& b, const NoiseLevels& levels, double scale) {
  Quantity found = std::exp(log_found(b, levels, scale));
  const double exact = scale / std::sqrt(1 - 1 / static_cast<double>(b.context));
  found.add(ErrorPart::next_order(std::exp(log_found(b, levels, exact)) - found.value()));
  const double lost = normal_share(-scale / levels.attention.maxCoeff());
  found.add(ErrorPart::next_order(std::pow(1 - found.value(), 2) * lost));
  return found;
}

std::vector<Quantity> BatchGrowth::larger_by(double factor) const {
  std::vector<Quantity> made;
  for (std::size_t i = 0; i < batch.size(); ++i) made.emplace_back(chance(i, factor));
  return made;
}

BatchGrowth batches_found(const Bigrams<double>& bigrams, const NoiseLevels& levels,
                          double per_root, std::span<const double> growth, double level) {
  BatchGrowth made;
  std::vector<Bigrams<double>> lengths;
  for (const double ratio : growth) {
    Bigrams<double>& b = lengths.emplace_back(bigrams);
    b.context = std::lround(ratio * static_cast<double>(bigrams.context));
    made.batch.push_back(std::ceil(std::pow(scale_for(b, levels, level) / per_root, 2)));
    made.found.push_back(found_probability(b, levels, per_root * std::sqrt(made.batch.back())));
  }
  made.chance = [=, batch = made.batch](std::size_t i, double factor) {
    return std::exp(log_found(lengths[i], levels, per_root * std::sqrt(factor * batch[i])));
  };
  const double exponent =
      std::log(made.batch.back() / made.batch.front()) / std::log(growth.back() / growth.front());
  for (std::size_t i = 0; i < growth.size(); ++i) {
    const double of_power = made.batch.front() * std::pow(growth[i] / growth.front(), exponent);
    made.power.emplace_back(made.chance(i, made.batch[i] / of_power));
    made.independent.emplace_back(made.chance(0, made.batch[i] / made.batch.front()));
  }
  return made;
}

double FrozenSteps::worth(const Training<double>& training) const {
  const double square =
      covariance_product(training.start, training.start, training.bigrams.stationary);
  const double kept = 1 - step * square;  // r
  const double left = std::pow(kept, static_cast<double>(count));
  return (1 - left) * (1 + kept) / ((1 + left) * (1 - kept));
}

double FrozenSteps::threshold(const Training<double>& training) const {
  const Bigrams<double>& b = training.bigrams;
  const double share = 1 / static_cast<double>(b.context);
  const double pull = covariance_product(training.start, b.transition, b.stationary);
  const double square = covariance_product(training.start, training.start, b.stationary);
  const double left = std::pow(1 - step * square, static_cast<double>(count));
  return share + pull / square * (1 - left) * (b.law.minCoeff() / 2 - share);
}

namespace {

Schedule schedule_of(const Training<double>& training, const FrozenSteps& steps) {
  Schedule schedule;
  schedule.transfer = true;
  schedule.boost_until = std::numeric_limits<double>::max();
  schedule.boost_steps = steps.count;
  schedule.threshold = std::max(0.0, steps.threshold(training));
  return schedule;
}

Quantity share_of_rung(const AnyRung<double>& rung, Index entries, const FrozenSteps& steps,
                       Index batch, std::uint32_t runs, std::uint32_t first_run,
                       const Setting& setting) {
  std::uint32_t found = 0;
  for (const Trajectory<double>& run :
       runs_to_end(rung, steps.step, steps.count, batch, runs, first_run, setting)) {
    const bool all = !run.rows.empty() && run.rows.back().back() == static_cast<double>(entries);
    found += all ? 1U : 0U;
  }
  return success_probability(found, runs, setting.false_alarm);
}

}  // namespace

Quantity found_share(const Training<double>& training, const NoiseLevels& levels,
                     const FrozenSteps& steps, Index batch, std::uint32_t first_run,
                     const Setting& setting) {
  return share_of_rung(forget_type(LumpedThreePart(training, schedule_of(training, steps), levels)),
                       training.bigrams.entries(), steps, batch, setting.draws(2000), first_run,
                       setting);
}

Quantity found_share_on_sequences(const Training<double>& training, const FrozenSteps& steps,
                                  Index batch, std::uint32_t runs, std::uint32_t first_run,
                                  const Setting& setting) {
  return share_of_rung(forget_type(ThreePartDescent(training, schedule_of(training, steps))),
                       training.bigrams.entries(), steps, batch, runs, first_run, setting);
}

}  // namespace popgrad::scb::checks
