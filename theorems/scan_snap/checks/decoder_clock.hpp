#pragma once
/// The decoder as a clock: what Eqn 10 depends on in place of steps and rates.

#include <cmath>

#include "popgrad/rungs/rung.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks {

/// y = M h against steps t of batch 1:
///   e^y - 1 + (M-1) y = M eta_Y t/K
struct DecoderClock {
  double m, k, rate;  ///< M, K, eta_Y
  explicit DecoderClock(const TrainingInstance<double>& training)
      : m(static_cast<double>(training.classes.tokens)),
        k(static_cast<double>(training.classes.classes())),
        rate(training.decoder_rate) {}
  [[nodiscard]] double y(double t) const { return m * decoder_scale(m, rate, t / k); }
  [[nodiscard]] double t(double y) const { return k * (std::expm1(y) + (m - 1) * y) / (m * rate); }
  /// q = d ln h/d ln t.
  [[nodiscard]] double order(double y) const {
    return (std::expm1(y) + (m - 1) * y) / (y * (m - 1 + std::exp(y)));
  }
  [[nodiscard]] double t0() const { return transition_time(m, rate, static_cast<int>(k)); }
};

/// Gamma = eta_Z int gamma in units of y^2/2:
///   Gamma = (eta_Z/eta_Y) K ((M-1)/M)^2 y^2/2
template <class T>
T gamma_per_half_square(const TrainingInstance<T>& training) {
  const T part = T(1) - T(1) / static_cast<T>(training.classes.tokens);
  return training.attention_rate / training.decoder_rate *
         static_cast<T>(training.classes.classes()) * part * part;
}

/// Eqn 10 in the clock theta = ln(1 + y^2)/2, which any time in doubles fits into; of its h nothing
/// is read. For double and Real.
template <class T>
AnyRung<T> in_clock_of_decoder(const ReducedFlow<T>& flow, const TrainingInstance<T>& training);
/// ln y and y at theta > 0.
double log_y_at(double theta);
double y_at(double theta);

}  // namespace popgrad::scan_snap::checks
