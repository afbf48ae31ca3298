#include "scb/column_kernels.hpp"

#include "wide.hpp"

namespace popgrad::scb {
namespace {

// Within the versions below: Clang makes none of a template.
template <class Storage>
[[gnu::always_inline]] inline ColumnSums advance(Storage* a, const Storage* z, Index count,
                                                 Storage rate, Storage by, Storage level) {
  double mass = 0, size = 0;
#pragma omp simd reduction(+ : mass, size)
  for (Index t = 0; t < count; ++t) {
    // The change apart from what it is added to: 1 - rate would lose the digits of a small rate.
    a[t] += by + level * z[t] - rate * a[t];
    const double moved = a[t];
    mass += moved;
    size += moved * moved;
  }
  return {mass, size};
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

POPGRAD_WIDE
ColumnSums advance_doubles(double* a, const double* z, Index count, double rate, double by,
                           double level) {
  return advance<double>(a, z, count, rate, by, level);
}

POPGRAD_WIDE
ColumnSums advance_floats(float* a, const float* z, Index count, float rate, float by,
                          float level) {
  return advance<float>(a, z, count, rate, by, level);
}

POPGRAD_WIDE
ColumnSums sums_of_doubles(const double* a, Index count) { return sums(a, count); }

POPGRAD_WIDE
ColumnSums sums_of_floats(const float* a, Index count) { return sums(a, count); }

}  // namespace

ColumnSums advance_column(double* a, const double* z, Index count, double rate, double by,
                          double level) {
  return advance_doubles(a, z, count, rate, by, level);
}

ColumnSums advance_column(float* a, const float* z, Index count, double rate, double by,
                          double level) {
  return advance_floats(a, z, count, static_cast<float>(rate), static_cast<float>(by),
                        static_cast<float>(level));
}

ColumnSums column_sums(const double* a, Index count) { return sums_of_doubles(a, count); }

ColumnSums column_sums(const float* a, Index count) { return sums_of_floats(a, count); }

}  // namespace popgrad::scb
