#include "theorems/scan_snap/checks/decoder_clock.hpp"

#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/checks/measuring.hpp"

namespace popgrad::scan_snap::checks {

// dx/dtheta is the rate of x per unit of Gamma/eta_Z times
//   d(Gamma/eta_Z)/dtheta = (K/eta_Y) ((M-1)/M)^2 e^(2 theta).
template <class T>
AnyRung<T> in_clock_of_decoder(const ReducedFlow<T>& flow, const TrainingInstance<T>& training) {
  const Index tokens = training.classes.tokens;
  const auto m = static_cast<T>(tokens);
  const T scale =
      gamma_per_half_square(training) / (training.attention_rate * backprop_scale(m, T(T(1) / m)));
  AnyRung<T> rung;
  rung.initial = flow.initial();
  rung.dimension = rung.initial.size();
  rung.state_names = flow.state_names();
  rung.field.value = [&flow, tokens, scale](const Vector<T>& x, Vector<T>& dx, const T& theta) {
    using std::exp;
    dx = rates_while_learning(flow, tokens, x);
    dx *= T(scale * exp(T(2 * theta)));
  };
  rung.observables.read = [](const Vector<T>&, const T&, std::span<T>) {};
  return rung;
}
template AnyRung<double> in_clock_of_decoder(const ReducedFlow<double>&,
                                             const TrainingInstance<double>&);
template AnyRung<Real> in_clock_of_decoder(const ReducedFlow<Real>&, const TrainingInstance<Real>&);

double log_y_at(double theta) { return theta + std::log(-std::expm1(-2 * theta)) / 2; }
double y_at(double theta) { return std::exp(log_y_at(theta)); }

}  // namespace popgrad::scan_snap::checks
