#include "theorems/scb/rungs/noisy_step.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "theorems/scb/rungs/column_kernels.hpp"

namespace popgrad::scb {
namespace {

// Means of xi over the pieces of a column, less that over all of it.
void draw_piece_means(Stream stream, Index positions, std::span<double> means) {
  stream.normals(means);
  double sum = 0;
  for (std::size_t p = 0; p < means.size(); ++p) {
    const Index count = std::min(noise_piece, positions - static_cast<Index>(p) * noise_piece);
    const double root = std::sqrt(static_cast<double>(count));
    const double zeta = means[p];
    means[p] = zeta / root;
    sum += zeta * root;
  }
  for (double& mean : means) mean -= sum / static_cast<double>(positions);
}

// Piece by piece: after a step and of a state given, the same bits.
void add(const ColumnSums& piece, ColumnSums& all) {
  all.mass += piece.mass;
  all.size += piece.size;
}

// What is about to be read, while normals are drawn.
void fetch(const double* entries, Index count) {
  constexpr auto line = static_cast<Index>(64 / sizeof(double));
  for (Index t = 0; t < count; t += line) __builtin_prefetch(entries + t, 1);
}

}  // namespace

bool NoisyStep::is_marked(const Bigrams<double>& b, const Eigen::Map<Matrix<double>>& v,
                          const double* columns) const {
  const Index n = b.tokens();
  if (marked_values_.rows() != n || !(marked_values_.array() == v.array()).all()) return false;
  for (Index k = 0; k < n; ++k) {
    const double* const ends = marked_ends_.data() + 2 * k;
    if (ends[0] != columns[k * b.context] || ends[1] != columns[(k + 1) * b.context - 1]) {
      return false;
    }
  }
  return true;
}

void NoisyStep::mark(const Bigrams<double>& b, const Eigen::Map<Matrix<double>>& v,
                     const double* columns) {
  marked_values_ = v;
  marked_ends_.clear();
  for (Index k = 0; k < b.tokens(); ++k) {
    marked_ends_.push_back(columns[k * b.context]);
    marked_ends_.push_back(columns[(k + 1) * b.context - 1]);
  }
}

void NoisyStep::take(const NoisyLaw& law, Eigen::Map<Matrix<double>> v, double* columns, double eta,
                     const Stream& stream, Index batch) {
  const Bigrams<double>& b = law.training.bigrams;
  const Index n = b.tokens();
  const Index positions = b.context;
  if (!is_marked(b, v, columns)) {
    sums_.resize(static_cast<std::size_t>(n));
    for (Index k = 0; k < n; ++k) {
      ColumnSums& own = sums_[static_cast<std::size_t>(k)];
      own = {};
      for (Index t = 0; t < positions; t += noise_piece) {
        add(column_sums(columns + k * positions + t, std::min(noise_piece, positions - t)), own);
      }
    }
  }
  double size = 0, overlap = 0;
  for (Index k = 0; k < n; ++k) {
    size += b.stationary[k] * sums_[static_cast<std::size_t>(k)].size;
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      const double entry = columns[k * positions + b.position[static_cast<std::size_t>(e)]];
      overlap += b.stationary[k] * b.law[e] * entry;
    }
  }
  const ValueProducts<double>::Pair values = products_.of(v, b);
  const double product = values.product;
  const double square = values.square;
  const NoiseScale scale =
      noise_scale(law.levels.shape, batch, size, square, law.transition_size, law.context_size);
  const double value_level = scale.value * law.levels.value;
  const Stream of_attention =
      value_level > 0 ? stream.skip(Stream::groups(static_cast<std::size_t>(n * n))) : stream;
  const auto move_values = [&] {
    mean_value_.noalias() = v * b.stationary;
    Stream own = stream;
    if (value_level > 0) value_noise_.draw(b, own);
    for (Index k = 0; k < n; ++k) {
      auto column = v.col(k);
      column +=
          eta * (overlap * (b.transition.col(k) - b.stationary) - size * (column - mean_value_));
      if (value_level > 0) column += (eta * value_level) * value_noise_.column(k);
    }
  };

  const double step = eta * law.training.attention_rate;
  const double rate = step * square;
  const std::uint32_t normal_groups = Stream::groups(static_cast<std::size_t>(positions));
  const auto pieces = static_cast<std::size_t>((positions - 1) / noise_piece + 1);
  const std::uint32_t groups = normal_groups + (pieces > 1 ? Stream::groups(pieces) : 0);
  // None of columns of one piece.
  means_.resize(pieces > 1 ? static_cast<std::size_t>(n) * pieces : 0);
  const auto move_column = [&](Index k) {
    double* const a = columns + k * positions;
    ColumnSums& kept = sums_[static_cast<std::size_t>(k)];
    const double level = step * scale.attention * law.levels.attention[k];
    Stream own = of_attention.skip(static_cast<std::uint32_t>(k) * groups);
    const std::span<double> means =
        pieces > 1 ? std::span(means_).subspan(static_cast<std::size_t>(k) * pieces, pieces)
                   : std::span<double>();
    if (level > 0 && pieces > 1) draw_piece_means(own.skip(normal_groups), positions, means);
    // The sum of the new column is (1 - rate) times the old one, T shifts and what q^k adds: 1.
    const double shift =
        (rate * kept.mass - step * product + (1 - kept.mass)) / static_cast<double>(positions);
    std::array<double, noise_piece> z{};
    kept = {};
    Index e = b.first[static_cast<std::size_t>(k)];
    const Index end = b.first[static_cast<std::size_t>(k + 1)];
    for (Index p = 0, t = 0; t < positions; ++p, t += noise_piece) {
      const Index count = std::min(noise_piece, positions - t);
      fetch(a + t, count);
      double mean = 0;
      if (level > 0) {
        own.normals({z.data(), static_cast<std::size_t>(count)});
        mean = sum_of(z.data(), count) / static_cast<double>(count);
        if (!means.empty()) mean -= means[static_cast<std::size_t>(p)];
      }
      advance_column(a + t, z.data(), count, rate, shift - level * mean, level);
      for (; e < end && b.position[static_cast<std::size_t>(e)] < t + count; ++e) {
        a[b.position[static_cast<std::size_t>(e)]] += step * product * b.law[e];
      }
      add(column_sums(a + t, count), kept);
    }
  };
  constexpr Index worth_threads = 100'000;
  if (n * positions > worth_threads && omp_in_parallel() == 0) {
#pragma omp parallel
    {
#pragma omp single nowait
      move_values();
#pragma omp for schedule(dynamic, 1)
      for (Index k = 0; k < n; ++k) move_column(k);
    }
  } else {
    move_values();
    for (Index k = 0; k < n; ++k) move_column(k);
  }
  mark(b, v, columns);
}

}  // namespace popgrad::scb
