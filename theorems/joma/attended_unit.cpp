#include "theorems/joma/attended_unit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "popgrad/random.hpp"
#include "popgrad/softmax.hpp"
#include "popgrad/solve.hpp"
#include "popgrad/solved.hpp"
#include "theorems/joma/knobs.hpp"

namespace popgrad::theorems::joma {

using namespace popgrad::joma;

namespace {

constexpr double tolerance = 1e-12;

constexpr Knob activation = whole_knob("activation", "phi: 0 tanh, 1 ReLU, 2 GELU", 0, 2, 0);
constexpr Knob drawn_tokens = whole_knob("tokens", "contextual tokens M_C", 2, 5, 3);
constexpr Knob weakest = logarithmic_knob("weak", "the least mu", 0.5, 1.5, 1.5);
constexpr Knob span =
    logarithmic_knob("span", "the largest mu in units of the least", 1.2, 2, 5.0 / 3);
constexpr Knob output = logarithmic_knob("output", "weight o of the output layer", 0.3, 1, 0.7);
constexpr Knob start = logarithmic_knob("start", "v(0) of all tokens", 0.01, 0.2, 0.05);
constexpr Knob mixing =
    logarithmic_knob("mixing", "share of a class that is spread over all tokens", 1e-3, 0.5, 0)
        .breaking("every class has one token");
constexpr Knob offset =
    logarithmic_knob("offset", "z(0) - v(0)^2/(2T)", 1e-3, 1, 0).breaking("z(0) = v(0)^2/(2T)");

// Between the two classes of a token, and in all.
Vector<double> class_law(Activation phi, const Vector<double>& target, double o, double& slope) {
  const Index d = target.size();
  Vector<double> token(d);
  for (Index l = 0; l < d; ++l) {
    const double gate = o * activation_slope(phi, target[l]);
    token[l] = std::pow(std::cosh(o * activate(phi, target[l])) / gate, 2);
  }
  slope = 1 / token.sum();
  token *= slope;
  Vector<double> law(2 * d);
  for (Index l = 0; l < d; ++l) {
    const double excess = std::tanh(o * activate(phi, target[l]));
    law[2 * l] = token[l] * (1 + excess) / 2;
    law[2 * l + 1] = token[l] * (1 - excess) / 2;
  }
  return law;
}

// When each token has 1e-3, 1e-4, 1e-5 of its way left, and when all have 1e-6.
struct Schedule {
  std::vector<std::array<double, 3>> times;
  double end = 0;
};

Schedule schedule(const AnyRung<double>& rung, Index tokens, double first_guess) {
  constexpr std::size_t saves = 4000;
  for (double end = first_guess; end < 100 * first_guess; end *= 2) {
    SolveRequest<double> request;
    request.end = end;
    request.save_at = equally_spaced(0.0, end, saves + 1);
    request.relative_tolerance = 1e-10;
    request.absolute_tolerance = 1e-13;
    request.keep_states = true;
    request.find_events = false;
    const Trajectory<double> run = solve(rung, request);
    if (!run.outcome.usable()) throw std::runtime_error("the unit does not get to its end");
    Schedule found;
    Vector<double> slope(rung.dimension);
    Vector<double> first_slope(rung.dimension);
    rung.rhs(run.states.back(), slope, 0.0);
    rung.rhs(run.states[saves / 2], first_slope, 0.0);
    // Settled: what is left, v'/rate, with the rate over the second half.
    bool settled = true;
    for (Index l = 0; l < tokens; ++l) {
      const double rate = std::log(std::fabs(first_slope[l] / slope[l])) / (end / 2);
      const double last = run.states.back()[l];
      settled = settled && (slope[l] == 0 || std::fabs(slope[l] / rate / last) < 1e-6);
    }
    if (!settled) continue;
    for (Index l = 0; l < tokens; ++l) {
      const double last = run.states.back()[l];
      std::array<double, 3> at{};
      std::size_t i = 0;
      for (std::size_t k = 0; k < at.size(); ++k) {
        const double left = std::pow(10.0, -3.0 - static_cast<double>(k));
        while (i < saves && std::fabs(1 - run.states[i][l] / last) > left) ++i;
        at[k] = run.t[i];
        ++i;  // the next one is later
      }
      found.times.push_back(at);
    }
    found.end = end;
    return found;
  }
  throw std::runtime_error("the unit does not settle");
}

}  // namespace

std::vector<Knob> knobs_of_attended_unit() {
  return {activation, drawn_tokens, weakest, span, output, start, tau, mixing, offset};
}

AttendedUnit attended_unit(Activation phi, const Vector<double>& target, double tau_of_unit,
                           double decoder, double first_weight) {
  const Index d = target.size();
  AttendedUnit unit;
  unit.target = target;
  unit.tau = tau_of_unit;
  ClassInstance<double>& training = unit.training;
  training.attention = Attention::exp;
  training.phi = phi;
  training.temperature = std::sqrt(unit.tau / 2);
  training.features.residual = false;
  training.class_law = class_law(phi, target, decoder, unit.slope);
  training.token_law = Matrix<double>::Zero(d, 2 * d);
  training.decoder.resize(2 * d, 1);
  for (Index c = 0; c < 2 * d; ++c) {
    training.token_law(c / 2, c) = 1;
    training.decoder(c, 0) = c % 2 == 0 ? decoder : -decoder;
  }
  training.weights = Matrix<double>::Constant(d, 1, first_weight);
  const double logit = first_weight * first_weight / (2 * training.temperature);
  training.logits = Vector<double>::Constant(d, logit);
  unit.least_gate = activation_slope(phi, first_weight);
  for (const double mu : target) {
    unit.least_gate = std::min(unit.least_gate, activation_slope(phi, mu));
  }
  return unit;
}

AttendedUnit attended_unit(const Setting& setting) {
  constexpr std::array phis{Activation::tanh, Activation::relu, Activation::gelu};
  const Index d = setting.count(drawn_tokens);
  const double least = setting.value(weakest);
  Stream stream(setting.seed, stream_of_drawn_instances, 9);
  Vector<double> target(d);
  target[0] = least;
  target[d - 1] = least * setting.value(span);
  for (Index l = 1; l + 1 < d; ++l) {
    target[l] = least + (target[d - 1] - least) * stream.uniform();
  }
  std::sort(target.begin(), target.end());
  AttendedUnit unit =
      attended_unit(phis.at(static_cast<std::size_t>(setting.count(activation))), target,
                    setting.value(tau), setting.value(output), setting.value(start));
  unit.mixing = setting.value(mixing);
  unit.offset = setting.value(offset);
  Matrix<double>& law = unit.training.token_law;
  law = ((1 - unit.mixing) * law.array() + unit.mixing / static_cast<double>(d)).matrix();
  unit.training.logits.array() += unit.offset;
  return unit;
}

AttendedEnd train(const AttendedUnit& unit) {
  const Index d = unit.target.size();
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(unit.training));
  const Schedule plan = schedule(rung, d, 10 / unit.slope);
  std::vector<double> times{plan.end};
  for (const auto& at : plan.times) times.insert(times.end(), at.begin(), at.end());
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const Solved run(rung, times, tolerance);
  const auto place = [&](double t) {
    return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), t) -
                                    times.begin());
  };
  const auto slope_at = [&](std::size_t save, Index l) {
    Quantity value = run.at(save, [&](const Vector<double>& x) {
      Vector<double> dx(x.size());
      rung.rhs(x, dx, 0.0);
      return std::fabs(dx[l]);
    });
    // The two classes of a token cancel near mu.
    const double gain = std::exp(run.state(save)[d + l] / unit.training.temperature);
    const double pull =
        unit.training.class_law.segment(2 * l, 2).sum() * unit.training.decoder.maxCoeff();
    value.add(ErrorPart::rounding(8, gain * pull));
    return value;
  };
  AttendedEnd end;
  const std::size_t last = place(plan.end);
  double entropy_left = 0;
  const auto entropy = [&](const Vector<double>& x) {
    return softmax_entropy(Vector<double>(x.tail(d) / unit.training.temperature));
  };
  for (Index l = 0; l < d; ++l) {
    const auto& at = plan.times[static_cast<std::size_t>(l)];
    std::array<Quantity, 3> logs;
    for (std::size_t k = 0; k < logs.size(); ++k) logs[k] = log(slope_at(place(at[k]), l));
    const Quantity before = (logs[0] - logs[1]) * Quantity(1 / (at[1] - at[0]));
    Quantity rate = (logs[1] - logs[2]) * Quantity(1 / (at[2] - at[1]));
    rate.add(ErrorPart::next_order(rate.value() - before.value()));
    // What is left at this rate is added, and taken for the error.
    const Quantity left = slope_at(last, l) / rate;
    const bool rising = run.state(last)[l] > run.state(0)[l];
    Quantity weight = run.at(last, [l](const Vector<double>& x) { return x[l]; });
    weight = rising ? weight + left : weight - left;
    weight.add(ErrorPart::next_order(left.value()));
    end.weight.push_back(weight);
    end.rate.push_back(rate * Quantity(1 / unit.slope));
    entropy_left = std::max(entropy_left,
                            std::fabs(entropy(run.state(last)) - entropy(run.state(place(at[2])))));
  }
  end.entropy = run.at(last, entropy);
  end.entropy.add(ErrorPart::next_order(entropy_left));
  return end;
}

}  // namespace popgrad::theorems::joma
