#pragma once
/// Theorem 4 on symbols.

#include "popgrad/evidence/examination.hpp"

namespace popgrad::scan_snap::checks {

/// d/dt of Gamma, z and B by h against their equations, generic M, rates, f and w; K = 7, K_m = 3.
Truth closed_forms_solve_equations();

}  // namespace popgrad::scan_snap::checks
