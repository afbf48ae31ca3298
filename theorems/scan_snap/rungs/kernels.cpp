#include "theorems/scan_snap/rungs/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "scalars/wide.hpp"
#include "scalars/wide_exp.hpp"

namespace popgrad::scan_snap {
namespace {

// Short rows, of 8 to 16 columns, are held in two registers of 8. The second ends at the last
// column and overlaps the first, so that no row has a tail of single numbers.
constexpr Index block = 8;

using Block = double __attribute__((vector_size(block * sizeof(double))));
// A block anywhere among doubles. A struct, for Clang forgets the lower alignment of a plain vector
// type where a reference binds to it.
struct __attribute__((packed, aligned(alignof(double)), may_alias)) Row {
  Block numbers;
};
static_assert(alignof(Row) == alignof(double));

bool is_short(Index columns) { return columns >= block && columns <= 2 * block; }

[[gnu::always_inline]] inline const Row& at(const double* x) {
  return *reinterpret_cast<const Row*>(x);
}
[[gnu::always_inline]] inline void put(double* x, const Block& value) {
  reinterpret_cast<Row*>(x)->numbers = value;
}
[[gnu::always_inline]] inline double sum_of(const Block& x) {
  // By halves; every sum is then in all places.
  const Block four = x + __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
  const Block two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1, 6, 7, 4, 5);
  return two[0] + two[1];
}
[[gnu::always_inline]] inline void weighted_short_rows(const Index* row, const double* f,
                                                       Index count, const double* table,
                                                       Index columns, double* out) {
  const double* const tail = table + columns - block;
  Block even{};
  Block even_tail{};
  Block odd{};
  Block odd_tail{};
  Index i = 0;
  for (; i + 2 <= count; i += 2) {
    even += f[i] * at(table + row[i] * columns).numbers;
    even_tail += f[i] * at(tail + row[i] * columns).numbers;
    odd += f[i + 1] * at(table + row[i + 1] * columns).numbers;
    odd_tail += f[i + 1] * at(tail + row[i + 1] * columns).numbers;
  }
  if (i < count) {
    even += f[i] * at(table + row[i] * columns).numbers;
    even_tail += f[i] * at(tail + row[i] * columns).numbers;
  }
  put(out, even + odd);
  put(out + columns - block, even_tail + odd_tail);
}

[[gnu::always_inline]] inline void add_short_row_products(const Index* row, Index count,
                                                          const double* table, Index columns,
                                                          const double* v, double* out) {
  const double* const tail = table + columns - block;
  const Block factor = at(v).numbers;
  // Without the columns that the first block has counted.
  Block factor_tail{};
  for (Index k = 2 * block - columns; k < block; ++k) factor_tail[k] = v[columns - block + k];
  for (Index i = 0; i < count; ++i) {
    out[i] += sum_of(factor * at(table + row[i] * columns).numbers +
                     factor_tail * at(tail + row[i] * columns).numbers);
  }
}

[[gnu::always_inline]] inline void scatter_short_row(const Index* entry, const Index* end,
                                                     const Index* owner, const double* f,
                                                     const double* pull, Index columns,
                                                     double* to) {
  const double* from = pull + owner[*entry] * columns;
  Block sum = f[*entry] * at(from).numbers;
  Block sum_tail = f[*entry] * at(from + columns - block).numbers;
  while (++entry != end) {
    from = pull + owner[*entry] * columns;
    sum += f[*entry] * at(from).numbers;
    sum_tail += f[*entry] * at(from + columns - block).numbers;
  }
  put(to, sum);
  put(to + columns - block, sum_tail);
}

POPGRAD_WIDE
void weighted_rows_wide(const Index* row, const double* f, Index count, const double* table,
                        Index columns, double* out) {
  if (is_short(columns)) return weighted_short_rows(row, f, count, table, columns, out);
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

POPGRAD_WIDE
void add_row_products_wide(const Index* row, Index count, const double* table, Index columns,
                           const double* v, double* out) {
  if (is_short(columns)) return add_short_row_products(row, count, table, columns, v, out);
  Index i = 0;
  for (; i + 4 <= count; i += 4) {
    // Four sums at a time: one short row does not fill the pipeline.
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
    out[i] += sum_a;
    out[i + 1] += sum_b;
    out[i + 2] += sum_p;
    out[i + 3] += sum_q;
  }
  for (; i < count; ++i) {
    const double* const from = table + row[i] * columns;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index c = 0; c < columns; ++c) sum += from[c] * v[c];
    out[i] += sum;
  }
}

POPGRAD_WIDE
void add_to_rows_wide(const Index* row, const double* f, Index count, const double* v,
                      Index columns, double* table) {
  for (Index i = 0; i < count; ++i) {
    double* const to = table + row[i] * columns;
    const double factor = f[i];
#pragma omp simd
    for (Index c = 0; c < columns; ++c) to[c] += factor * v[c];
  }
}

POPGRAD_WIDE
void scatter_rows_wide(const Layout& layout, Index begin, Index end, const double* f,
                       const double* pull, Index columns, double* out, Index stride) {
  const Index* const first = layout.row_first.data();
  const Index* const entry = layout.row_entry.data();
  const Index* const owner = layout.entry_class.data();
  for (Index r = begin; r < end; ++r) {
    double* const to = out + r * stride;
    if (is_short(columns)) {
      scatter_short_row(entry + first[r], entry + first[r + 1], owner, f, pull, columns, to);
      continue;
    }
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

// out = exp(x - shift), x <= shift.
POPGRAD_WIDE
void exponentials(const double* x, double shift, Index count, double* out) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) {
    double y = x[i] - shift;
    wide::exp_bounded<std::uint64_t>(y);
    out[i] = y;
  }
}

POPGRAD_WIDE
double product(const double* a, const double* b, Index count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

POPGRAD_WIDE
double largest(const double* x, Index count) {
  // A maximum a lane: Clang makes no vectors of a maximum over all.
  constexpr Index lanes = 8;
  double most[lanes];
  for (double& lane : most) lane = x[0];
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma omp simd
    for (Index lane = 0; lane < lanes; ++lane) {
      most[lane] = x[i + lane] > most[lane] ? x[i + lane] : most[lane];
    }
  }
  for (; i < count; ++i) most[0] = x[i] > most[0] ? x[i] : most[0];
  return *std::max_element(most, most + lanes);
}

POPGRAD_WIDE
void scale(double factor, Index count, double* x) {
#pragma omp simd
  for (Index i = 0; i < count; ++i) x[i] *= factor;
}

// f = law * f, returns the square of the result's norm.
POPGRAD_WIDE
double weigh(const double* law, Index count, double* f) {
  double square = 0;
#pragma omp simd reduction(+ : square)
  for (Index i = 0; i < count; ++i) {
    f[i] *= law[i];
    square += f[i] * f[i];
  }
  return square;
}

POPGRAD_WIDE
void pull_back_wide(const double* f, Index count, double* g) {
  const double along = product(f, g, count);
#pragma omp simd
  for (Index i = 0; i < count; ++i) g[i] = f[i] * (g[i] - f[i] * along);
}

}  // namespace

void weighted_rows(const Index* row, const double* f, Index count, const double* table,
                   Index columns, double* out) {
  weighted_rows_wide(row, f, count, table, columns, out);
}

void add_row_products(const Index* row, Index count, const double* table, Index columns,
                      const double* v, double* out) {
  add_row_products_wide(row, count, table, columns, v, out);
}

void add_to_rows(const Index* row, const double* f, Index count, const double* v, Index columns,
                 double* table) {
  add_to_rows_wide(row, f, count, v, columns, table);
}

void scatter_rows(const Layout& layout, Index begin, Index end, const double* f, const double* pull,
                  Index columns, double* out, Index stride) {
  scatter_rows_wide(layout, begin, end, f, pull, columns, out, stride);
}

void pull_back(const double* f, Index count, double* g) { pull_back_wide(f, count, g); }

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

void exponentials_fast(double* numbers, Index count) { exponentials(numbers, 0, count, numbers); }

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
