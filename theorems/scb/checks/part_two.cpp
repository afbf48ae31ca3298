#include "theorems/scb/checks/part_two.hpp"

#include "theorems/scb/checks/prelude.hpp"

namespace popgrad::scb::checks {

Schedule part_two_schedule(const Bigrams<double>& b, double weight) {
  const double context = context_size(b);
  const double at_start = 0.5625 * std::sqrt(transition_size(b) * context);  // <V,V>
  const double alpha = settled_value(b);
  Schedule schedule;
  schedule.threshold =
      1 / static_cast<double>(b.context);  // what positions off the support stay below
  schedule.l1_weight = weight;
  schedule.l1_step = 0.2 / (std::max(at_start, transition_size(b) * alpha * alpha) +
                            std::max(context, context / (alpha * alpha)));
  return schedule;
}

double settled_value(const Bigrams<double>& b) {
  const double transition = transition_size(b);
  const double context = context_size(b);
  const double kept = 0.5625 * std::sqrt(transition * context) - context;
  return std::sqrt((kept + std::sqrt(kept * kept + 4 * transition * context)) / (2 * transition));
}

double slowest_rate(const Bigrams<double>& b) {
  const double transition = transition_size(b);
  const double context = context_size(b);
  const double alpha = settled_value(b);
  return std::min({0.5625 * std::sqrt(transition * context), transition * alpha * alpha,
                   context / (alpha * alpha), context});
}

QuietRun::QuietRun(const Training<double>& training, double weight)
    : schedule_(part_two_schedule(training.bigrams, weight)),
      rung_(training, schedule_, no_noise(training.bigrams.tokens())),
      x_(rung_.initial()),
      columns_(rung_.columns()),
      row_(columns_.size()),
      entries_(static_cast<double>(training.bigrams.entries())) {
  slowest_ = slowest_rate(training.bigrams);
  Stream unused(0, 0, 0);
  while (part_of(x_) == Part::boost) {
    throw_if_stopped();
    rung_.sample_step(x_, boost_step, unused, 0);
  }
  look();
}

double QuietRun::advance(double relaxation_times) {
  const double time = relaxation_times / slowest_;
  const auto steps = static_cast<std::uint64_t>(std::ceil(time / schedule_.l1_step));
  Stream unused(0, 0, 0);
  for (std::uint64_t i = 0; i < steps; ++i) {
    throw_if_stopped();
    rung_.sample_step(x_, boost_step, unused, 0);
  }
  const double passed = static_cast<double>(steps) * schedule_.l1_step;
  look();
  relaxed_ = at("nonzeros") > entries_ ? 0 : relaxed_ + passed * slowest_;
  return passed;
}

void QuietRun::settle() {
  constexpr double long_enough = 25;
  advance(long_enough);
  if (row_.back() <= entries_) return;
  while (row_.back() > entries_) advance(1);
  advance(long_enough);
}

double QuietRun::transient() const { return std::exp(-relaxed_); }

void QuietRun::look() { rung_.observe(x_, 0.0, row_); }

double unevenness(const Bigrams<double>& b, Index token) {
  const auto law = b.law.segment(b.first[static_cast<std::size_t>(token)], b.support(token));
  return (static_cast<double>(b.support(token)) * law.array() - 1).square().sum();
}

Settled settled_at(const Bigrams<double>& b, double weight, double alpha_V) {
  const double transition = transition_size(b);
  const double context = context_size(b);
  const double square = transition * alpha_V * alpha_V;  // <V,V>
  const auto positions = static_cast<double>(b.context);
  const double stiffness = square * alpha_V * alpha_V + context;
  double mean_share = 0;  // sum_k mu_k / (1 - Q_k/T)
  for (Index k = 0; k < b.tokens(); ++k) {
    mean_share += b.stationary[k] / (1 - static_cast<double>(b.support(k)) / positions);
  }
  const double lag = mean_share * weight / square / (stiffness + mean_share / positions);
  const double taken_off = weight / square - lag / positions;  // u_k (1 - Q_k/T)
  double mass = 0;
  double bias = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto support = static_cast<double>(b.support(k));
    const double taken = taken_off / (1 - support / positions);
    mass += b.stationary[k] * support * taken;
    bias += b.stationary[k] * std::pow(taken * alpha_V, 2) * unevenness(b, k);
  }
  const double scale = std::sqrt(transition) * alpha_V;
  return {.distance_P = scale * (mass - lag),
          .distance_Q = std::sqrt(bias),
          .no_lag_P = scale * mass,
          .drift = 2 * taken_off * mean_share * square / alpha_V};
}

SmallWeights small_weights(const Training<double>& training, double weight) {
  const Bigrams<double>& b = training.bigrams;
  const double transition = transition_size(b);
  const double context = context_size(b);
  SmallWeights found;
  for (const double share : falling_parameters(1, 2, 4)) {
    const double own = share * weight;
    QuietRun run(training, own);
    const auto difference = [&] {
      return transition * run.value() * run.value() - context * run.attention() * run.attention();
    };
    run.settle();
    const ErrorPart transients = ErrorPart::next_order(run.transient() / own);
    const Settled predicted = settled_at(b, own, run.value());
    if (share == 1) found.alpha_V = run.value();
    found.weight.push_back(own);
    found.distance_P.push_back({run.distance_P() / predicted.distance_P, {transients}});
    // Four roundings of a^k a step, which steps forget at the rate <V,V>, and four of its distance.
    const double forgets =
        part_two_schedule(b, own).l1_step * transition * std::pow(run.value(), 2);
    const ErrorPart rounded =
        ErrorPart::rounding(4 / forgets + 4, std::sqrt(context) / predicted.distance_Q);
    found.distance_Q.push_back({run.distance_Q() / predicted.distance_Q, {transients, rounded}});
    found.trained_P = run.trained_P() / predicted.distance_P;
    found.no_lag_P = predicted.no_lag_P / predicted.distance_P;
    const double before = difference();
    const double alpha_before = run.value();
    const double time = run.advance(0.1);
    const double middle = (alpha_before + run.value()) / 2;
    const double step = time * settled_at(b, own, middle).drift;
    found.drift.push_back({(difference() - before) / step,
                           {transients, ErrorPart::rounding(1, std::fabs(before) / step)}});
  }
  return found;
}

Quantity limit_of_weight(std::span<const double> weights, std::span<const Quantity> values) {
  Quantity limit = limit_in(weights, values);
  const std::size_t fewer = weights.size() - 1;
  const Quantity before = limit_in(weights.first(fewer), values.first(fewer));
  limit.add(ErrorPart::next_order(limit.value() - before.value()));
  return limit;
}

}  // namespace popgrad::scb::checks
