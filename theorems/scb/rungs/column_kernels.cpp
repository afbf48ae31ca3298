#include "theorems/scb/rungs/column_kernels.hpp"

#include "scalars/wide.hpp"

namespace popgrad::scb {
namespace {

// Within the versions below: Clang makes none of a template.
template <class Storage>
[[gnu::always_inline]] inline void advance(Storage* a, const Storage* z, Index count, Storage rate,
                                           Storage by, Storage level) {
  // The change apart from what it is added to: 1 - rate would lose the digits of a small rate.
#pragma omp simd
  for (Index t = 0; t < count; ++t) a[t] += by + level * z[t] - rate * a[t];
}

template <class Storage>
[[gnu::always_inline]] inline ColumnSums sums(const Storage* a, Index count) {
  double mass = 0, size = 0;
#pragma omp simd reduction(+ : mass, size)
  for (Index t = 0; t < count; ++t) {
    const double entry = a[t];
    mass += entry;
    size += entry * entry;
  }
  return {mass, size};
}

template <class Storage>
[[gnu::always_inline]] inline double sum(const Storage* z, Index count) {
  Storage all = 0;
#pragma omp simd reduction(+ : all)
  for (Index t = 0; t < count; ++t) all += z[t];
  return all;
}

POPGRAD_WIDE
double sum_of_doubles(const double* z, Index count) { return sum(z, count); }

POPGRAD_WIDE
double sum_of_floats(const float* z, Index count) { return sum(z, count); }

POPGRAD_WIDE
void advance_doubles(double* a, const double* z, Index count, double rate, double by,
                     double level) {
  advance(a, z, count, rate, by, level);
}

POPGRAD_WIDE
void advance_floats(float* a, const float* z, Index count, float rate, float by, float level) {
  advance(a, z, count, rate, by, level);
}

POPGRAD_WIDE
ColumnSums sums_of_doubles(const double* a, Index count) { return sums(a, count); }

POPGRAD_WIDE
ColumnSums sums_of_floats(const float* a, Index count) { return sums(a, count); }

}  // namespace

void advance_column(double* a, const double* z, Index count, double rate, double by, double level) {
  advance_doubles(a, z, count, rate, by, level);
}

void advance_column(float* a, const float* z, Index count, double rate, double by, double level) {
  advance_floats(a, z, count, static_cast<float>(rate), static_cast<float>(by),
                 static_cast<float>(level));
}

double sum_of(const double* z, Index count) { return sum_of_doubles(z, count); }

double sum_of(const float* z, Index count) { return sum_of_floats(z, count); }

ColumnSums column_sums(const double* a, Index count) { return sums_of_doubles(a, count); }

ColumnSums column_sums(const float* a, Index count) { return sums_of_floats(a, count); }

}  // namespace popgrad::scb
