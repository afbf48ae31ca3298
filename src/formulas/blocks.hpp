#pragma once
/// Arrays made of blocks, taken apart.

#include "formulas/graph.hpp"

namespace popgrad::formulas {

/// The same formula with products and sums of concatenated arrays done block by block, and without blocks of zeros:
///
///   A @ concatenate([x, y]) = A[:, :n] @ x + A[:, n:] @ y
///
/// Other functions of such arrays get them whole.
Array by_blocks(const Array& formula);

}  // namespace popgrad::formulas
