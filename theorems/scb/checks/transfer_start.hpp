#pragma once
/// Drawn instances that start with a kernel transferred from elsewhere, and what breaks them.

#include <fmt/format.h>

#include <cmath>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

inline constexpr Knob vocabulary =
    whole_knob("tokens", "tokens N of the vocabulary; with 2, W = 0", 3, 6, 3);
inline constexpr Knob transfer_length =
    logarithmic_knob("length", "positions T of the context", 5, 1e6, 5000);
inline constexpr Knob theta =
    logarithmic_knob("theta", "size of the transfer start, in units of P - mu 1'", 0.1, 2, 0.5);
inline constexpr Knob correlation =
    linear_knob("correlation", "of the transferred kernel with P", -0.9, 1, 0.6);
inline constexpr Knob tilt =
    logarithmic_knob("tilt", "standard deviation of ln mu_k about the stationary law, drawn", 1e-3,
                     3, 0)
        .breaking("P mu = mu");
inline constexpr Knob mean_value =
    logarithmic_knob("mean-value", "|V(0) mu - mu| over |mu|, in a drawn direction", 1e-3, 3, 0)
        .breaking("V(0) mu = mu");

inline Training<double> drawn_transfer(const Setting& setting) {
  Training<double> training;
  Bigrams<double>& b = training.bigrams;
  b = random_bigrams(setting.count(vocabulary), setting.count(transfer_length),
                     setting.count(support_knob), setting.seed);
  training.start =
      transfer_start(b, setting.value(theta), setting.value(correlation), setting.seed);
  Stream stream(setting.seed, 0, 0);
  Vector<double>& mu = b.stationary;
  if (const double tilted = setting.value(tilt); tilted > 0) {
    for (double& weight : mu) weight *= std::exp(tilted * stream.normal());
    mu /= mu.sum();
    // V(0) mu = mu is kept.
    training.start.colwise() += Vector<double>(mu - training.start * mu);
  }
  if (const double moved = setting.value(mean_value); moved > 0) {
    Vector<double> direction(mu.size());
    for (double& value : direction) value = stream.normal();
    direction.array() -= direction.mean();
    training.start.colwise() += Vector<double>(direction * (moved * mu.norm() / direction.norm()));
  }
  return training;
}

/// `P mu = mu` and `V(0) mu = mu`, up to the rounding of the products.
inline void require_stationary(const Training<double>& training, Examination& it) {
  const Vector<double>& mu = training.bigrams.stationary;
  const auto n = static_cast<double>(mu.size());
  const double rounding = ErrorPart::rounding(n * n, training.start.norm() + 1).size();
  const double off = (training.bigrams.transition * mu - mu).norm();
  const double start_off = (training.start * mu - mu).norm();
  it.require("P mu = mu", rounding - off, fmt::format("|P mu - mu| = {:.3g}", off));
  it.require("V(0) mu = mu", rounding - start_off,
             fmt::format("|V(0) mu - mu| = {:.3g}", start_off));
}

}  // namespace popgrad::scb::checks
