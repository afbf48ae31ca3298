#pragma once
/// What an evaluation is made of: the products of a sparse F with a row-major table,
/// and the softmax.
///
/// Plain loops for any scalar; for double functions compiled for several instruction sets, the
/// widest that the processor has chosen at start. They relax: sums are reordered and fused, exp is
/// a polynomial within 2 units in the last place. Tested against the plain loops.

#include "popgrad/scalars/vector.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

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

/// out_i += table[row_i] . v, i < count.
template <class T>
void add_row_products(const Index* row, Index count, const T* table, Index columns, const T* v,
                      T* out) {
  for (Index i = 0; i < count; ++i) {
    const T* const from = table + row[i] * columns;
    T sum(0);
    for (Index c = 0; c < columns; ++c) sum = sum + from[c] * v[c];
    out[i] = out[i] + sum;
  }
}

/// Rows `begin` .. `end` - 1 of the transposed product, over the entries e_i of row r:
///   out[r] (C) = sum_i f[e_i] pull[class of e_i]
/// Rows of `out` begin every `stride` >= C numbers.
template <class T>
void scatter_rows(const Layout& layout, Index begin, Index end, const T* f, const T* pull,
                  Index columns, T* out, Index stride) {
  for (Index r = begin; r < end; ++r) {
    T* const to = out + r * stride;
    for (Index c = 0; c < columns; ++c) to[c] = T(0);
    for (Index i = layout.row_first[static_cast<std::size_t>(r)];
         i < layout.row_first[static_cast<std::size_t>(r + 1)]; ++i) {
      const Index e = layout.row_entry[static_cast<std::size_t>(i)];
      const T* const from = pull + layout.entry_class[static_cast<std::size_t>(e)] * columns;
      for (Index c = 0; c < columns; ++c) to[c] = to[c] + f[e] * from[c];
    }
  }
}

/// table[row_i] (C) += f_i v, i < count.
void add_to_rows(const Index* row, const double* f, Index count, const double* v, Index columns,
                 double* table);

void weighted_rows(const Index* row, const double* f, Index count, const double* table,
                   Index columns, double* out);
void add_row_products(const Index* row, Index count, const double* table, Index columns,
                      const double* v, double* out);
void scatter_rows(const Layout& layout, Index begin, Index end, const double* f, const double* pull,
                  Index columns, double* out, Index stride);

/// exp of `count` numbers in place; of those below -708 that of -708.
void exponentials_fast(double* numbers, Index count);

/// g = diag(f) (I - f f') g, of `count` entries.
template <class T>
void pull_back(const T* f, Index count, T* g) {
  T along(0);
  for (Index i = 0; i < count; ++i) along = along + f[i] * g[i];
  for (Index i = 0; i < count; ++i) g[i] = f[i] * (g[i] - f[i] * along);
}
void pull_back(const double* f, Index count, double* g);

/// `features` of features.hpp.
template <class T>
void features_fast(const SequenceClasses<T>& classes, const Layout& layout, const T* z,
                   Vector<T>& f) {
  features(classes, layout, z, f);
}
void features_fast(const SequenceClasses<double>& classes, const Layout& layout, const double* z,
                   Vector<double>& f);

/// `respond` of response.hpp for double.
double respond_fast(const double* logits, const Vector<double>& multiplicity, Index label,
                    double* residual);
template <class T>
T respond_fast(const T* logits, const Vector<T>& multiplicity, Index label, T* residual) {
  return respond(logits, multiplicity, label, residual);
}

}  // namespace popgrad::scan_snap
