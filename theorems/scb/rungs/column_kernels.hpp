#pragma once
/// Passes over one column of a dense attention matrix, in wide vectors, kept in double or in single
/// precision. Sums over entries are taken in double.

#include "popgrad/scalars/vector.hpp"
#include "theorems/scb/rungs/column_sums.hpp"

namespace popgrad::scb {

/// a <- a + (by + level z - rate a), entry by entry.
void advance_column(double* a, const double* z, Index count, double rate, double by, double level);
void advance_column(float* a, const float* z, Index count, double rate, double by, double level);
/// Sum of numbers of order 1, in their own precision.
double sum_of(const double* z, Index count);
double sum_of(const float* z, Index count);
/// Sum of the entries, and of their squares.
ColumnSums column_sums(const double* a, Index count);
ColumnSums column_sums(const float* a, Index count);

}  // namespace popgrad::scb
