#include "scan_snap/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

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
  Index i = 0;
  for (; i + 4 <= count; i += 4) {
    // Four sums at a time: short rows do not fill the pipeline alone.
    const double* const a = table + row[i] * columns;
    const double* const b = table + row[i + 1] * columns;
    const double* const p = table + row[i + 2] * columns;
    const double* const q = table + row[i + 3] * columns;
    double sum_a = 0;
    double sum_b = 0;
    double sum_p = 0;
    double sum_q = 0;
#pragma omp simd reduction(+ : sum_a, sum_b, sum_p, sum_q)
    for (Index c = 0; c < columns; ++c) {
      sum_a += a[c] * v[c];
      sum_b += b[c] * v[c];
      sum_p += p[c] * v[c];
      sum_q += q[c] * v[c];
    }
    out[i] = sum_a;
    out[i + 1] = sum_b;
    out[i + 2] = sum_p;
    out[i + 3] = sum_q;
  }
  for (; i < count; ++i) {
    const double* const from = table + row[i] * columns;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index c = 0; c < columns; ++c) sum += from[c] * v[c];
    out[i] = sum;
  }
}

POPGRAD_CLONES
void add_to_rows(const Index* row, const double* f, Index count, const double* v, Index columns,
                 double* table) {
  for (Index i = 0; i < count; ++i) {
    double* const to = table + row[i] * columns;
    const double factor = f[i];
#pragma omp simd
    for (Index c = 0; c < columns; ++c) to[c] += factor * v[c];
  }
}

POPGRAD_CLONES
void scatter_rows(const Layout& layout, Index begin, Index end, const double* f, const double* pull,
                  Index columns, double* out) {
  const Index* const first = layout.row_first.data();
  const Index* const entry = layout.row_entry.data();
  const Index* const owner = layout.entry_class.data();
  for (Index r = begin; r < end; ++r) {
    double* const to = out + r * columns;
    // Every row has an entry; the first one writes, the others add.
    Index i = first[r];
    const double once = f[entry[i]];
    const double* const start = pull + owner[entry[i]] * columns;
#pragma omp simd
    for (Index c = 0; c < columns; ++c) to[c] = once * start[c];
    for (++i; i < first[r + 1]; ++i) {
      const double factor = f[entry[i]];
      const double* const from = pull + owner[entry[i]] * columns;
#pragma omp simd
      for (Index c = 0; c < columns; ++c) to[c] += factor * from[c];
    }
  }
}

namespace {

// out = exp(x - shift), x <= shift; below -708 counts as -708. x - shift = n ln 2 + r, |r| <= ln 2
// / 2; exp r by its series to r^13, remainder below 5e-18.
POPGRAD_CLONES
void exponentials(const double* x, double shift, Index count, double* out) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) {
    double y = x[i] - shift;
    y = y < -708.0 ? -708.0 : y;
    // Adding 1.5 * 2^52 leaves the nearest whole number in the low bits.
    const double shifted = y * 0x1.71547652b82fep0 + 0x1.8p52;
    const double n = shifted - 0x1.8p52;
    // ln 2 in two parts, the first with zeros at its end.
    const double r = (y - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
    double p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = (p * r) * r + (r + 1.0);
    const std::uint64_t power = (std::bit_cast<std::uint64_t>(shifted) + 1023U) << 52U;
    out[i] = p * std::bit_cast<double>(power);
  }
}

POPGRAD_CLONES
double product(const double* a, const double* b, Index count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

POPGRAD_CLONES
double largest(const double* x, Index count) {
  double most = x[0];
#pragma omp simd reduction(max : most)
  for (Index i = 1; i < count; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

POPGRAD_CLONES
void scale(double factor, Index count, double* x) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) x[i] *= factor;
}

// f = law * f, returns the square of the result's norm.
POPGRAD_CLONES
double weigh(const double* law, Index count, double* f) {
  double square = 0;
#pragma omp simd reduction(+ : square)
  for (Index i = 0; i < count; ++i) {
    f[i] *= law[i];
    square += f[i] * f[i];
  }
  return square;
}

}  // namespace

void features_fast(const SequenceClasses<double>& classes, const Layout& layout, const double* z,
                   Vector<double>& f) {
  f.resize(classes.entries());
  const Index* const pair = layout.entry_pair.data();
  for (std::size_t n = 0; n + 1 < classes.first.size(); ++n) {
    const Index begin = classes.first[n];
    const Index count = classes.first[n + 1] - begin;
    double* const own = f.data() + begin;
    for (Index i = 0; i < count; ++i) own[i] = z[pair[begin + i]];
    exponentials(own, largest(own, count), count, own);
    scale(1 / std::sqrt(weigh(classes.law.data() + begin, count, own)), count, own);
  }
}

double respond_fast(const double* logits, const Vector<double>& multiplicity, Index label,
                    double* residual) {
  const Index columns = multiplicity.size();
  const double shift = largest(logits, columns);
  const double own = logits[label] - shift;
  exponentials(logits, shift, columns, residual);
  const double total = product(residual, multiplicity.data(), columns);
  scale(-1 / total, columns, residual);
  residual[label] += 1;
  return std::log(total) - own;
}

}  // namespace popgrad::scan_snap
