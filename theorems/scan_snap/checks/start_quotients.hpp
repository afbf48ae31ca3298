#pragma once
/// How much faster attention begins to move on the reduced flow than on the population flow.

#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks {

/// |z'_reduced|/|z'_flow| as t -> 0, equally likely classes: (M-1)^2/M |v(beta)|/|v(1)| with
///   v_m(B) = sum_{n: psi(n) = m} diag(f_n) (I - f_n f_n') sum_{n' != n} B_nn' f_n'.
struct StartQuotients {
  double claimed = 0;
  double first_order = 0;  ///< with q1 E - q0 in place of beta
};
/// For double and Real.
template <class T>
StartQuotients start_quotients(const SequenceClasses<T>& classes);

}  // namespace popgrad::scan_snap::checks
