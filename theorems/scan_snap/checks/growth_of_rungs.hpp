#pragma once
/// B_n of one common token by Eqn 13, by Eqn 10 as printed, and on the flow.

#include <vector>

#include "popgrad/evidence/solved.hpp"
#include "theorems/scan_snap/checks/one_common_token.hpp"

namespace popgrad::scan_snap::checks {

inline constexpr double growth_tolerance = 1e-12;

/// State M h, z, B of Eqn 13, with the C0 = 1/(K f_c^4) of the paper and weight 1 in z'.
AnyRung<double> eqn_13(const CommonToken<double>& token);

/// Gamma at time t.
double accumulated_at(const CommonToken<double>& token, double t);
/// What Eqn 13 gives from 0, ln(1 + 4 Gamma/C0)/4; `rate` in place of 4.
double growth_from_eqn_13(const CommonToken<double>& token, double t, double rate = 4);

/// B_0 of Eqn 10 as printed (weight 1 in z') and of the flow, at the same times.
struct Growths {
  std::vector<Quantity> reduced, flow;
};
Growths growths(const OneCommonToken& instance, const std::vector<double>& times);

/// Limits as t -> 0 of B_n of Eqn 13 over that of Eqn 10, and of this over that of the flow, classes
/// alike.
struct EarlyQuotients {
  double to_reduced, to_flow;
};
EarlyQuotients early_quotients(const CommonToken<double>& token);

}  // namespace popgrad::scan_snap::checks
