#pragma once
/// Passes over one column of a dense attention matrix, in wide vectors.

#include "popgrad/scalars/vector.hpp"
#include "theorems/scb/rungs/column_sums.hpp"

namespace popgrad::scb {

/// a <- a + (by + level z - rate a), entry by entry.
void advance_column(double* a, const double* z, Index count, double rate, double by, double level);
/// Sum of the numbers.
double sum_of(const double* z, Index count);
/// Sum of the entries, and of their squares.
ColumnSums column_sums(const double* a, Index count);

}  // namespace popgrad::scb
