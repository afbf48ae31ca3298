#pragma once
/// What attention makes of the laws: c_n, f_n, their Gram matrix, entropies.
///
///   c_n(l) = P(l|n) exp(z_ml) / sum_l' P(l'|n) exp(z_ml')
///   f_n    = c_n / |c_n|_2
///   F'F    = I + E
/// Values are stored by entries of the law (nnz). Source: arXiv 2305.16380, Lemma 2.

#include <cmath>
#include <utility>
#include <vector>

#include "popgrad/scalars/scalar.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap {

/// f (nnz) at the logits z (pairs). Cost nnz exp.
template <Transcendental T, class Logits>
void features(const SequenceClasses<T>& classes, const Layout& layout, const Logits& z,
              Vector<T>& f) {
  using std::exp, std::sqrt;
  f.resize(classes.entries());
  const Index* const pair = layout.entry_pair.data();
  for (std::size_t n = 0; n + 1 < classes.first.size(); ++n) {
    const Index begin = classes.first[n];
    const Index end = classes.first[n + 1];
    T shift(0);
    if constexpr (Ordered<T>) {
      shift = z[pair[begin]];
      for (Index e = begin + 1; e < end; ++e) {
        if (shift < z[pair[e]]) shift = z[pair[e]];
      }
    }
    T square(0);
    for (Index e = begin; e < end; ++e) {
      f[e] = classes.law[e] * exp(T(z[pair[e]] - shift));
      square = square + f[e] * f[e];
    }
    const T norm = sqrt(square);
    for (Index e = begin; e < end; ++e) f[e] = f[e] / norm;
  }
}

/// F'F = I + E (K x K). Cost sum over tokens of (classes that have it)^2 <= nnz K.
template <class T>
void take_gram(const Layout& layout, Index classes, const Vector<T>& f, Matrix<T>& g) {
  g.setConstant(classes, classes, T(0));
  // Entry by entry, so that all sums of one step lie in one column.
  for (std::size_t e = 0; e < layout.entry_class.size(); ++e) {
    const Index n = layout.entry_class[e];
    const T& own = f[static_cast<Index>(e)];
    const auto row = static_cast<std::size_t>(layout.entry_row[e]);
    for (auto i = static_cast<std::size_t>(layout.row_first[row]);; ++i) {
      // Entries of a row ascend with the class: the upper triangle ends at e itself.
      const Index other = layout.row_entry[i];
      T& sum = g(layout.entry_class[static_cast<std::size_t>(other)], n);
      sum = sum + own * f[other];
      if (static_cast<std::size_t>(other) == e) break;
    }
  }
  for (Index n = 0; n < classes; ++n) {
    for (Index j = 0; j < n; ++j) g(n, j) = g(j, n);
  }
}
template <class T>
Matrix<T> gram(const Layout& layout, Index classes, const Vector<T>& f) {
  Matrix<T> g;
  take_gram(layout, classes, f, g);
  return g;
}

/// -sum c ln c of c_n, and of its distinct part renormalised (0 if there is none), in nats.
template <Transcendental T>
std::pair<T, T> attention_entropies(const SequenceClasses<T>& classes, const Layout& layout,
                                    const Vector<T>& f, Index n) {
  using std::log;
  T total(0), distinct(0), moment(0), distinct_moment(0);
  for (Index e = classes.first[static_cast<std::size_t>(n)];
       e < classes.first[static_cast<std::size_t>(n + 1)]; ++e) {
    if constexpr (Ordered<T>) {
      if (!(f[e] > T(0))) continue;  // underflow: p ln p tends to 0
    }
    const T term = f[e] * log(f[e]);
    total = total + f[e];
    moment = moment + term;
    if (layout.entry_distinct[static_cast<std::size_t>(e)]) {
      distinct = distinct + f[e];
      distinct_moment = distinct_moment + term;
    }
  }
  // With p = f / S: -sum p ln p = ln S - (sum f ln f) / S.
  const T entropy = log(total) - moment / total;
  if constexpr (Ordered<T>) {
    if (!(distinct > T(0))) return {entropy, T(0)};
  }
  return {entropy, log(distinct) - distinct_moment / distinct};
}

}  // namespace popgrad::scan_snap
