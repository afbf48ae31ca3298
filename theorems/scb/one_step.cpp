#include "theorems/scb/one_step.hpp"

#include <cmath>

#include "popgrad/ensemble.hpp"
#include "popgrad/rung.hpp"
#include "popgrad/scb/lumped_three_part.hpp"
#include "popgrad/walk.hpp"
#include "theorems/scb/branching.hpp"

namespace popgrad::theorems::scb {

using namespace popgrad::scb;

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

Quantity found_share(const Training<double>& training, const NoiseLevels& levels, double pull,
                     Index batch, std::uint32_t first_run, const Setting& setting) {
  const Bigrams<double>& b = training.bigrams;
  const double share = 1 / static_cast<double>(b.context);
  Schedule schedule;
  constexpr double step = 0.05;  // of no consequence: signal and noise go with it alike
  schedule.boost_steps = 1;
  schedule.threshold = std::max(0.0, share + step * pull * (b.law.minCoeff() / 2 - share));
  const AnyRung<double> rung = forget_type(LumpedThreePart(training, schedule, levels));
  WalkRequest request;
  request.step_size = step;
  request.steps = 1;
  request.save_steps = {1};
  request.batch = batch;
  request.runs = setting.draws(1500);
  request.first_run = first_run;
  request.seed = setting.seed;
  request.jobs = setting.jobs;
  std::uint32_t found = 0;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    const bool all =
        !run.rows.empty() && run.rows.back().back() == static_cast<double>(b.entries());
    found += all ? 1U : 0U;
  }
  return success_probability(found, request.runs, setting.false_alarm);
}

}  // namespace popgrad::theorems::scb
