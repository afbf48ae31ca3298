#include "theorems/scan_snap/checks/growth_of_rungs.hpp"

#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::scan_snap::checks {

AnyRung<double> eqn_13(const CommonToken<double>& token) {
  AnyRung<double> rung;
  rung.dimension = 3;
  rung.initial = Vector<double>::Zero(3);
  rung.state_names = {"M h", "z", "B"};
  rung.field.value = [token](const Vector<double>& x, Vector<double>& dx, const double&) {
    const double m = token.vocabulary;
    const double h = x[0] / m;
    dx[0] = m * decoder_rate_of(m, token.decoder_rate, h) / token.classes;
    dx[2] =
        token.attention_rate * backprop_scale(m, h) * std::exp(4 * x[1]) / token.scale_of_paper();
    dx[1] = -dx[2];
  };
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  return rung;
}

double accumulated_at(const CommonToken<double>& token, double t) {
  return accumulated_scale(token,
                           decoder_scale(token.vocabulary, token.decoder_rate, t / token.classes));
}

double growth_from_eqn_13(const CommonToken<double>& token, double t, double rate) {
  return growth_exponent_of_eqn_13(token, accumulated_at(token, t), rate);
}

Growths growths(const OneCommonToken& instance, const std::vector<double>& times) {
  TrainingInstance<double> printed = instance.training;
  printed.clock = Clock::paper;
  TrainingInstance<double> training = instance.training;
  training.clock = Clock::consistent;
  const ReducedFlow<double> reduced(printed, instance.vocabulary);
  const PopulationFlow<double> flow(training);
  const Index at = reduced.layout().pairs() + 1;
  const Index k = training.classes.classes();
  return {Solved(forget_type(reduced), times, growth_tolerance).along([&](const Vector<double>& x) {
            return x[at];
          }),
          Solved(forget_type(flow), times, growth_tolerance).along([&](const Vector<double>& x) {
            return x[x.size() - k];
          })};
}

EarlyQuotients early_quotients(const CommonToken<double>& token) {
  const double k = token.classes;
  const double m = token.vocabulary;
  const double rho = token.component * token.component;
  // xi_n of Eqn 10 over gamma, all E_nn' = rho; Eqn 13 has K rho^2.
  const double reduced =
      m / (m - 1) * (k - 1) * rho * (rho + 1 / (m - 1)) / ((1 - rho) * (1 + (k - 1) * rho));
  return {k * rho * rho / reduced, k * (1 + rho * (m - k) / (1 + (k - 1) * rho)) / (1 - rho)};
}

}  // namespace popgrad::scan_snap::checks
