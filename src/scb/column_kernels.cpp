#include "scb/column_kernels.hpp"

#include "wide.hpp"

namespace popgrad::scb {

POPGRAD_WIDE
double advance_column(double* a, const double* z, Index count, double kept, double shift,
                      double level) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index t = 0; t < count; ++t) {
    a[t] = kept * a[t] + shift + level * z[t];
    sum += a[t];
  }
  return sum;
}

POPGRAD_WIDE
double shift_column(double* a, Index count, double by) {
  double size = 0;
#pragma omp simd reduction(+ : size)
  for (Index t = 0; t < count; ++t) {
    a[t] += by;
    size += a[t] * a[t];
  }
  return size;
}

POPGRAD_WIDE
double column_size(const double* a, Index count) {
  double size = 0;
#pragma omp simd reduction(+ : size)
  for (Index t = 0; t < count; ++t) size += a[t] * a[t];
  return size;
}

}  // namespace popgrad::scb
