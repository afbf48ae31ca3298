#pragma once
/// The three products of a sparse F with a row-major table that every evaluation is made of.
///
/// Plain loops for any scalar; for double functions compiled for several instruction sets, the
/// widest that the processor has chosen at start (sums are then reordered and fused).

#include "popgrad/vector.hpp"

namespace popgrad::scan_snap {

/// out (C) = sum_i f_i table[row_i], i < count.
template <class T>
void weighted_rows(const Index* row, const T* f, Index count, const T* table, Index columns,
                   T* out) {
  for (Index c = 0; c < columns; ++c) out[c] = T(0);
  for (Index i = 0; i < count; ++i) {
    const T* const from = table + row[i] * columns;
    for (Index c = 0; c < columns; ++c) out[c] = out[c] + f[i] * from[c];
  }
}

/// out_i = table[row_i] . v, i < count.
template <class T>
void row_products(const Index* row, Index count, const T* table, Index columns, const T* v,
                  T* out) {
  for (Index i = 0; i < count; ++i) {
    const T* const from = table + row[i] * columns;
    T sum(0);
    for (Index c = 0; c < columns; ++c) sum = sum + from[c] * v[c];
    out[i] = sum;
  }
}

/// to (C) += factor v.
template <class T>
void add_scaled(const T& factor, const T* v, Index columns, T* to) {
  for (Index c = 0; c < columns; ++c) to[c] = to[c] + factor * v[c];
}

void weighted_rows(const Index* row, const double* f, Index count, const double* table,
                   Index columns, double* out);
void row_products(const Index* row, Index count, const double* table, Index columns,
                  const double* v, double* out);
void add_scaled(const double& factor, const double* v, Index columns, double* to);

}  // namespace popgrad::scan_snap
