#pragma once
/// One unit with exp attention whose field under uniform attention is known in closed form.
///
/// Token l belongs to two classes of cross entropy, with weights +o and -o of the output layer:
///   G_l(u) = pi_l o phi'(u_l) (tanh(o phi(mu_l)) - tanh(o phi(u_l)))
///   -dG_l/du_l at mu = pi_l (o phi'(mu_l)/cosh(o phi(mu_l)))^2,
/// where the class law puts mu. The pi_l make that slope one number h for all tokens: near mu the
/// field is h (mu - u), as Eqn 10 of JoMA has it.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "theorems/joma/rungs/population_flow.hpp"

namespace popgrad::joma::checks {

inline constexpr Hypothesis one_token_a_class{"every class has one token"};
inline constexpr Hypothesis tied_start{"`z(0) = v(0)^2/(2T)`"};

struct AttendedUnit {
  ClassInstance<double> training;
  Vector<double> target;  ///< mu, ascending
  double tau = 2;
  double slope = 0;       ///< h
  double mixing = 0;      ///< what a class has of the tokens of others
  double offset = 0;      ///< z(0) - v(0)^2/(2T)
  double least_gate = 0;  ///< the least phi' at the start and at mu
};

std::vector<Knob> knobs_of_attended_unit();
AttendedUnit attended_unit(const Setting& setting);
/// The same from mu, ascending.
AttendedUnit attended_unit(Activation phi, const Vector<double>& target, double tau, double decoder,
                           double start);

/// How the weights of the trained unit end: the model's own flow, expectations exact.
struct AttendedEnd {
  std::vector<Quantity> weight;  ///< v_l, extrapolated by what is left of its way
  std::vector<Quantity> rate;    ///< of ln(1/|delta_l|), over h
  Quantity entropy;              ///< of the attention, extrapolated likewise
  double time = 0;               ///< when all have 1e-6 of their way left
};
/// Rates between |delta| = 1e-4 and 1e-5, from v' only; parts solver, rounding, next order (what
/// the interval before says).
AttendedEnd train(const AttendedUnit& unit);
/// Of softmax(v^2/tau_of_unit), in nats.
double attention_entropy(const Vector<double>& v, double tau_of_unit);
/// By how much the attention entropy ends above its least: of the trained unit,
Quantity rebound(const AttendedUnit& unit, const AttendedEnd& end);
/// and until `time` by v' = a o G(a o v), a = exp(v^2/tau), which ends at `last`.
Quantity rebound_by_law(const AttendedUnit& unit, const Vector<double>& last, double time);

}  // namespace popgrad::joma::checks
