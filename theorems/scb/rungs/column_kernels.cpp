#include "theorems/scb/rungs/column_kernels.hpp"

#include "scalars/wide.hpp"

namespace popgrad::scb {
namespace {

POPGRAD_WIDE
void advance(double* a, const double* z, Index count, double rate, double by, double level) {
  // The change apart from what it is added to: 1 - rate would lose the digits of a small rate.
#pragma omp simd
  for (Index t = 0; t < count; ++t) a[t] += by + level * z[t] - rate * a[t];
}

POPGRAD_WIDE
ColumnSums sums(const double* a, Index count) {
  double mass = 0, size = 0;
#pragma omp simd reduction(+ : mass, size)
  for (Index t = 0; t < count; ++t) {
    const double entry = a[t];
    mass += entry;
    size += entry * entry;
  }
  return {mass, size};
}

POPGRAD_WIDE
double sum(const double* z, Index count) {
  double all = 0;
#pragma omp simd reduction(+ : all)
  for (Index t = 0; t < count; ++t) all += z[t];
  return all;
}

}  // namespace

void advance_column(double* a, const double* z, Index count, double rate, double by, double level) {
  advance(a, z, count, rate, by, level);
}

double sum_of(const double* z, Index count) { return sum(z, count); }

ColumnSums column_sums(const double* a, Index count) { return sums(a, count); }

}  // namespace popgrad::scb
