#pragma once
/// The instance of scan-snap.fates-assumption2, and the gains of tokens by their closed form.

#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scan_snap/checks/fates_instance.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr Knob assumption2_horizon =
    logarithmic_knob("time", "end of the trajectory, draws", 30, 3000, 300);
std::vector<Knob> assumption2_knobs();

/// The user's, or classes inside Assumption 2 that knobs and seed make, eta_Y = 0.5.
TrainingInstance<double> assumption2_training(const Setting& setting);

/// The claim, and the mistakes that the statement refutes.
enum class GainForm { claimed, second_order, other_sign };
/// z_l'/(eta_Z w gamma f_nl^2) of every distinct token, then z_c'/(eta_Z w gamma) of a single common
/// one by query, at features f (nnz):
///   xi_n/gamma = q1 (sum_i u_in^2 lambda_i^2/(1 + lambda_i) - sum_{j != n} G_nj/(M-1))
Vector<double> predicted_gains(const FatesInstance& at, const Vector<double>& f, GainForm form);

}  // namespace popgrad::scan_snap::checks
