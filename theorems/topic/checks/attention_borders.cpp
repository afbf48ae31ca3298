#include "theorems/topic/checks/attention_borders.hpp"

#include "theorems/topic/checks/attention_weights.hpp"
#include "theorems/topic/checks/distant_optimum.hpp"
#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

namespace {

// Of p_c from which on it is 0 to a thousandth for g*: to first order in p_c, g*/v - 1 is the slope
// at uniform attention over the curvature there at p_c = 0, which is of order p_c T/(p_r tau).
int halvings_to_small_response(const LargeLaw& law) {
  constexpr int least = 12;
  constexpr double small = 1e-3;
  LargeLaw never = law;
  never.correct = 0;
  LargeLaw rarely = law;
  rarely.correct *= Rational(std::ldexp(1.0, -least));
  const Rational& v = law.words;
  const Rational slope = landscape(rarely, minimum_norm_value(rarely)).gradient(v, 0)[0];
  const Rational curvature = landscape(never, minimum_norm_value(never)).hessian(v, 0)(0, 0);
  if (curvature <= 0) return least;
  const double response = to_double(Rational(-slope / (curvature * v)));
  return least + std::max(0, static_cast<int>(std::ceil(std::log2(response / small))));
}

}  // namespace

Quantity order_in_active(const TopicLaw<Rational>& law, bool diagonal) {
  // So far out that rare selections count; four, so that a correction that passes 0 is seen.
  const std::vector<double> parameter = falling_parameters(std::ldexp(1.0, -30), 2, 4);
  std::vector<Quantity> inverse;
  for (const double less : parameter) {
    const LargeLaw larger = enlarged(unbounded(law), Rational(1 / less), 1);
    inverse.push_back(Quantity(less) / best_weights(larger, diagonal).ratio);
  }
  return order_in(parameter, inverse);
}

Quantity order_in_topics(const TopicLaw<Rational>& law, bool diagonal) {
  const std::vector<double> parameter = falling_parameters(std::ldexp(1.0, -30), 2, 4);
  std::vector<Quantity> inverse;
  for (const double less : parameter) {
    const LargeLaw emptier = enlarged(unbounded(law), 1, Rational(1 / less));
    inverse.push_back(Quantity(1) / best_weights(emptier, diagonal).ratio);
  }
  return order_in(parameter, inverse);
}

Quantity order_in_keeping(const TopicLaw<Rational>& law) {
  const LargeLaw large = unbounded(law);
  const std::vector<double> parameter =
      falling_parameters(std::ldexp(1.0, -halvings_to_small_response(large)), 2, 4);
  std::vector<Quantity> rise;
  for (const double less : parameter) {
    LargeLaw rarely = large;
    rarely.correct *= Rational(less);
    rise.push_back(best_weights(rarely, false).ratio * Quantity(to_double(rarely.active)) -
                   Quantity(1));
  }
  return order_in(parameter, rise);
}

// A tenth off uniform attention, which is claimed to be one, would be noticed.
std::vector<Quantity> minimisers_near_uniform(const TopicLaw<Rational>& law) {
  const Landscape<Rational> made = landscape(law, diagonal_value(law));
  const Matrix<double> h = made.cast<double>().hessian(1, 1);
  const double flattest = (h(0, 0) * h(1, 1) - h(0, 1) * h(0, 1)) / std::fmax(h(0, 0), h(1, 1));
  if (!(flattest > 0)) throw Failure("the loss is flat at uniform attention");
  Box<Rational> found;
  double within = 0.01;
  // The boxes of a valley that lies across the axes are wider than the valley.
  for (int closer = 0; closer < 5; ++closer, within /= 4) {
    found =
        certify_minimum(law, made, weight_box(law, true), Rational(flattest * within * within / 2))
            .minimisers;
    const Rational widest =
        std::max(found.alpha_high - found.alpha_low, found.beta_high - found.beta_low);
    if (to_double(widest) < noticed_share) break;
  }
  return {enclosed(found.alpha_low, found.alpha_high), enclosed(found.beta_low, found.beta_high)};
}

Quantity mean_weight(const TopicLaw<Rational>& law) {
  const BestWeights best = best_weights(unbounded(law), true);
  const auto v = static_cast<double>(law.words);
  return best.ratio * Quantity(static_cast<double>(law.active)) + Quantity((v - 1) / v) * best.beta;
}

}  // namespace popgrad::topic::checks
