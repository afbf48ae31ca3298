#pragma once
/// Theorem 4 on symbols, and where its printed form and its figure part from the algebra.

#include "popgrad/examination.hpp"

namespace popgrad::theorems::scan_snap {

/// The closed forms of Gamma, z and B solve their equations.
void derive_common_token(Examination& it);

}  // namespace popgrad::theorems::scan_snap
