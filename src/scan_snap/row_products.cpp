#include "scan_snap/row_products.hpp"

// Sanitizers instrument the resolver that picks a version before they are ready themselves.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#define POPGRAD_CLONES __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define POPGRAD_CLONES
#endif

namespace popgrad::scan_snap {

POPGRAD_CLONES
void weighted_rows(const Index* row, const double* f, Index count, const double* table,
                   Index columns, double* out) {
  for (Index c = 0; c < columns; ++c) out[c] = 0;
  Index i = 0;
  for (; i + 4 <= count; i += 4) {
    // Four rows at a time: `out` is read and written once for all of them.
    const double* const a = table + row[i] * columns;
    const double* const b = table + row[i + 1] * columns;
    const double* const p = table + row[i + 2] * columns;
    const double* const q = table + row[i + 3] * columns;
    const double fa = f[i];
    const double fb = f[i + 1];
    const double fp = f[i + 2];
    const double fq = f[i + 3];
#pragma omp simd
    for (Index c = 0; c < columns; ++c) {
      out[c] += (fa * a[c] + fb * b[c]) + (fp * p[c] + fq * q[c]);
    }
  }
  for (; i < count; ++i) {
    const double* const from = table + row[i] * columns;
    const double factor = f[i];
#pragma omp simd
    for (Index c = 0; c < columns; ++c) out[c] += factor * from[c];
  }
}

POPGRAD_CLONES
void row_products(const Index* row, Index count, const double* table, Index columns,
                  const double* v, double* out) {
  for (Index i = 0; i < count; ++i) {
    const double* const from = table + row[i] * columns;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index c = 0; c < columns; ++c) sum += from[c] * v[c];
    out[i] = sum;
  }
}

POPGRAD_CLONES
void add_scaled(const double& factor, const double* v, Index columns, double* to) {
  const double by = factor;
#pragma omp simd
  for (Index c = 0; c < columns; ++c) to[c] += by * v[c];
}

}  // namespace popgrad::scan_snap
