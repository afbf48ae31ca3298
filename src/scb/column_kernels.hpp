#pragma once
/// Passes over one column of a dense attention matrix, in wide vectors.

#include "popgrad/vector.hpp"

namespace popgrad::scb {

/// a <- kept a + shift + level z, entry by entry; returns the sum of the new a.
double advance_column(double* a, const double* z, Index count, double kept, double shift,
                      double level);
/// a <- a + by; returns the sum of squares of the new a.
double shift_column(double* a, Index count, double by);
/// Sum of squares.
double column_size(const double* a, Index count);

}  // namespace popgrad::scb
