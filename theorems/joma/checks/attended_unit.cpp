#include "theorems/joma/checks/attended_unit.hpp"

#include <array>

#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {

namespace {

constexpr Knob unit_activation = whole_knob("activation", "phi: 0 tanh, 1 ReLU, 2 GELU", 0, 2, 0);
constexpr Knob drawn_tokens = whole_knob("tokens", "contextual tokens M_C", 2, 5, 3);
constexpr Knob weakest = logarithmic_knob("weak", "the least mu", 0.5, 1.5, 1.5);
constexpr Knob span =
    logarithmic_knob("span", "the largest mu in units of the least", 1.2, 2, 5.0 / 3);
constexpr Knob output = logarithmic_knob("output", "weight o of the output layer", 0.3, 1, 0.7);
constexpr Knob start = logarithmic_knob("start", "v(0) of all tokens", 0.01, 0.2, 0.05);
constexpr Knob mixing =
    logarithmic_knob("mixing", "share of a class that is spread over all tokens", 1e-3, 0.5, 0)
        .breaking(one_token_a_class);
constexpr Knob offset =
    logarithmic_knob("offset", "z(0) - v(0)^2/(2T)", 1e-3, 1, 0).breaking(tied_start);

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

}  // namespace

std::vector<Knob> knobs_of_attended_unit() {
  return {unit_activation, drawn_tokens, weakest, span, output, start, tau, mixing, offset};
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
      attended_unit(phis.at(static_cast<std::size_t>(setting.count(unit_activation))), target,
                    setting.value(tau), setting.value(output), setting.value(start));
  unit.mixing = setting.value(mixing);
  unit.offset = setting.value(offset);
  Matrix<double>& law = unit.training.token_law;
  law = ((1 - unit.mixing) * law.array() + unit.mixing / static_cast<double>(d)).matrix();
  unit.training.logits.array() += unit.offset;
  return unit;
}

}  // namespace popgrad::joma::checks
