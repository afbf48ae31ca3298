#pragma once
/// What the rungs of scan and snap share: starts, multiplicities, growth, mean answers.

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

namespace popgrad::scan_snap {

/// Starts draw from streams of their own, so that no training draw repeats one.
inline constexpr std::uint32_t start_run = 0xFFFFFFFFU;
inline constexpr std::uint64_t decoder_stream = 0;
inline constexpr std::uint64_t logit_stream = 1;

template <class T>
Vector<T> uniform_start(const TrainingInstance<T>& instance, std::uint64_t which, Index count) {
  Vector<T> x = Vector<T>::Constant(count, T(0));
  if (instance.start == Start::zero) return x;
  Stream stream(instance.seed, start_run, which);
  const double half_width = 1 / std::sqrt(static_cast<double>(instance.classes.tokens));
  for (T& value : x) value = T(half_width * (2 * stream.uniform() - 1));
  return x;
}

/// Y(0) by rows (R C); a given one has no shared column.
template <class T>
Vector<T> start_decoder(const TrainingInstance<T>& instance, const Layout& layout) {
  const Index columns = layout.columns();
  if (instance.decoder_start.size() == 0) {
    return uniform_start(instance, decoder_stream, layout.rows() * columns);
  }
  Vector<T> x(layout.rows() * columns);
  for (Index r = 0; r < layout.rows(); ++r) {
    for (Index c = 0; c < columns; ++c) {
      x[r * columns + c] = instance.decoder_start(layout.row_token[static_cast<std::size_t>(r)],
                                                  layout.column_token[static_cast<std::size_t>(c)]);
    }
  }
  return x;
}
/// z(0) (pairs).
template <class T>
Vector<T> start_logits(const TrainingInstance<T>& instance, const Layout& layout) {
  if (instance.logit_start.size() == 0) {
    return uniform_start(instance, logit_stream, layout.pairs());
  }
  Vector<T> x(layout.pairs());
  for (std::size_t q = 0; q < layout.query_token.size(); ++q) {
    for (Index p = layout.pair_first[q]; p < layout.pair_first[q + 1]; ++p) {
      x[p] = instance.logit_start(layout.query_token[q],
                                  layout.pair_token[static_cast<std::size_t>(p)]);
    }
  }
  return x;
}

template <class T>
Vector<T> multiplicities(const Layout& layout) {
  Vector<T> counts(layout.columns());
  for (Index c = 0; c < counts.size(); ++c) {
    counts[c] = T(static_cast<int>(layout.multiplicity[static_cast<std::size_t>(c)]));
  }
  return counts;
}

/// w of the sum over classes in z': w_n, or K w_n in the paper's reading of its clock.
template <class T>
T attention_weight(const TrainingInstance<T>& instance, Index n) {
  const T& weight = instance.classes.weight[n];
  if (instance.clock == Clock::consistent) return weight;
  return weight * T(static_cast<int>(instance.classes.classes()));
}

/// B_n' = eta_Z w xi_n, into the last numbers of a slope.
template <class T, class Xi>
void write_growth_rates(const TrainingInstance<T>& instance, const Xi& xi, Vector<T>& dx) {
  const Index begin = dx.size() - xi.size();
  for (Index n = 0; n < xi.size(); ++n) {
    dx[begin + n] = instance.attention_rate * attention_weight(instance, n) * T(xi[n]);
  }
}

inline void add_growth_names(Index classes, std::vector<std::string>& names) {
  for (Index n = 0; n < classes; ++n) names.push_back(fmt::format("B_{}", n));
}

template <class T>
struct Response {
  T loss, accuracy;
};

/// Means over the classes, from their logits (K x C).
template <class T>
Response<T> mean_response(const SequenceClasses<T>& classes, const Layout& layout,
                          const Vector<T>& multiplicity, const RowMatrix<T>& logits) {
  Response<T> mean{T(0), T(1)};
  Vector<T> residual(logits.cols());
  for (Index n = 0; n < classes.classes(); ++n) {
    const Index label = layout.class_column[static_cast<std::size_t>(n)];
    const T* const row = logits.row(n).data();
    mean.loss = mean.loss + classes.weight[n] * respond(row, multiplicity, label, residual.data());
    if constexpr (Ordered<T>) {
      // Misses are taken off, so that all hits make 1 to the last digit.
      mean.accuracy =
          mean.accuracy - classes.weight[n] * T(1 - hit_probability(row, multiplicity, label));
    }
  }
  return mean;
}

}  // namespace popgrad::scan_snap
