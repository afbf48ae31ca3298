#include "scb/column_kernels.hpp"

#include "wide.hpp"

namespace popgrad::scb {
namespace {

POPGRAD_WIDE
double advance(double* a, const double* z, Index count, double kept, double by, double level) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index t = 0; t < count; ++t) {
    a[t] = kept * a[t] + by + level * z[t];
    sum += a[t];
  }
  return sum;
}

POPGRAD_WIDE
double shift(double* a, Index count, double by) {
  double size = 0;
#pragma omp simd reduction(+ : size)
  for (Index t = 0; t < count; ++t) {
    a[t] += by;
    size += a[t] * a[t];
  }
  return size;
}

POPGRAD_WIDE
double size_of(const double* a, Index count) {
  double size = 0;
#pragma omp simd reduction(+ : size)
  for (Index t = 0; t < count; ++t) size += a[t] * a[t];
  return size;
}

}  // namespace

double advance_column(double* a, const double* z, Index count, double kept, double shift,
                      double level) {
  return advance(a, z, count, kept, shift, level);
}

double shift_column(double* a, Index count, double by) { return shift(a, count, by); }

double column_size(const double* a, Index count) { return size_of(a, count); }

}  // namespace popgrad::scb
