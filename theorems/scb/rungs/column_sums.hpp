#pragma once
/// What a step needs of one column of a dense attention matrix.

namespace popgrad::scb {

struct ColumnSums {
  double mass = 0;  ///< sum of the entries
  double size = 0;  ///< sum of their squares
};

}  // namespace popgrad::scb
