#include "theorems/joma/entropy_curve.hpp"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "popgrad/order.hpp"
#include "popgrad/softmax.hpp"
#include "popgrad/solved.hpp"

namespace popgrad::theorems::joma {

using popgrad::joma::Attention;
using popgrad::joma::ReducedFlow;

namespace {

constexpr double tolerance = 1e-12;

// dH/dv of the attention entropy.
Vector<double> entropy_slope(const ReducedFlow<double>& flow, const Vector<double>& v) {
  return 2 / flow.instance().tau *
         softmax_entropy_gradient(flow.attention_logits(v)).cwiseProduct(v);
}

// d ln(H(mu) - H)/dt, linearised: near mu token j comes at the rate a_j = exp(mu_j^2/tau), or its
// softmax, and adds w_j = dH/dv_j (mu_j - v_j) to H(mu) - H. What is neglected is less than what
// sum w_j a_j and sum w_j change where slopes and rates are taken at v in place of mu.
Quantity linearised_rate(const ReducedFlow<double>& flow, const Vector<double>& mu,
                         const Vector<double>& v) {
  const auto sums = [&](const Vector<double>& at) {
    Vector<double> rates = (at.array().square() / flow.instance().tau).exp();
    if (flow.instance().attention == Attention::softmax) rates /= rates.sum();
    const Vector<double> weights = entropy_slope(flow, at).cwiseProduct(mu - v);
    return std::pair{weights.dot(rates), weights.sum()};
  };
  const auto [rise, left] = sums(mu);
  const auto [rise_at_v, left_at_v] = sums(v);
  return {rise / left,
          {ErrorPart::next_order(rise / left * (rise_at_v / rise - 1)),
           ErrorPart::next_order(rise / left * (left_at_v / left - 1))}};
}

}  // namespace

Quantity first_fall(const ReducedFlow<double>& flow, const AnyRung<double>& rung) {
  Vector<double> slope(rung.dimension);
  rung.rhs(rung.initial, slope, 0.0);
  const auto leading_fall = [&](double t) {
    const Vector<double> v = rung.initial + t * slope;
    const Vector<double> z = v.cwiseProduct(v) / flow.instance().tau;
    return (z.array() - z.mean()).square().mean() / 2;
  };
  double t = 1 / slope.cwiseAbs().maxCoeff();
  while (leading_fall(t) > 1e-8) t /= 2;
  const Solved early(rung, {t / 2, t}, tolerance);
  const double even = std::log(static_cast<double>(rung.dimension));
  const auto share = [&](std::size_t save) {
    const Quantity entropy =
        early.at(save, [&](const Vector<double>& v) { return flow.attention_entropy(v); });
    return (Quantity(even) - entropy) * Quantity(1 / leading_fall(early.times()[save]));
  };
  return limit_in(std::vector{t, t / 2}, std::vector{share(1), share(0)});
}

LastRise last_rise(const ReducedFlow<double>& flow, const AnyRung<double>& rung) {
  const Vector<double> mu = flow.instance().target.col(0);
  LastRise found;
  found.entropy_at_target = flow.attention_entropy(mu);
  const double at_mu = found.entropy_at_target;
  const auto entropy = [&](const Vector<double>& v) { return flow.attention_entropy(v); };
  const auto entropy_rate = [&](const Vector<double>& v) {
    Vector<double> velocity(v.size());
    rung.rhs(v, velocity, 0.0);
    return entropy_slope(flow, v).dot(velocity);
  };
  // Until every token has 1e-4 of its way left at most and the entropy rises.
  found.time = 1;
  std::optional<Solved> run;
  const auto near = [&] {
    const Vector<double>& v = run->state(0);
    return (1 - v.array() / mu.array()).abs().maxCoeff() < 1e-4 && entropy_rate(v) > 0;
  };
  while (!run || !near()) {
    const bool settled = run && std::fabs(entropy(run->state(0)) - at_mu) < tolerance * at_mu;
    if (settled) throw std::runtime_error("the entropy has settled and never rose");
    run.emplace(rung, std::vector{found.time *= 1.5}, tolerance);
  }
  const Vector<double>& v = run->state(0);
  found.rate =
      run->at(0, [&](const Vector<double>& x) { return entropy_rate(x) / (at_mu - entropy(x)); });
  found.rate.add(ErrorPart::rounding(at_mu / (at_mu - entropy(v)), found.rate.value()));
  found.linearised_rate = linearised_rate(flow, mu, v);
  found.least_entropy = smallest_along(rung, found.time, tolerance, entropy);
  return found;
}

}  // namespace popgrad::theorems::joma
