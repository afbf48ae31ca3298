#include "scb/column_kernels.hpp"

#include <algorithm>
#include <array>

#include "wide.hpp"

namespace popgrad::scb {

POPGRAD_WIDE
double advance_column(double* a, const double* z, Index count, double kept, double shift,
                      double level) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index t = 0; t < count; ++t) {
    a[t] = kept * a[t] + shift + level * z[t];
    sum += a[t];
  }
  return sum;
}

POPGRAD_WIDE
double shift_column(double* a, Index count, double by) {
  double size = 0;
#pragma omp simd reduction(+ : size)
  for (Index t = 0; t < count; ++t) {
    a[t] += by;
    size += a[t] * a[t];
  }
  return size;
}

POPGRAD_WIDE
double column_size(const double* a, Index count) {
  double size = 0;
#pragma omp simd reduction(+ : size)
  for (Index t = 0; t < count; ++t) size += a[t] * a[t];
  return size;
}

void weigh_tokens(const std::uint16_t* tokens, const double* a, Index count, Index size,
                  double* histogram) {
  // Four histograms side by side: a token that comes again need not wait for the last sum.
  constexpr Index most = 256;
  std::fill(histogram, histogram + size, 0.0);
  Index t = 0;
  if (size <= most) {
    std::array<double, 4 * most> bins;
    std::fill_n(bins.begin(), 4 * size, 0.0);
    for (; t + 4 <= count; t += 4) {
      for (Index j = 0; j < 4; ++j)
        bins[4 * std::size_t{tokens[t + j]} + static_cast<std::size_t>(j)] += a[t + j];
    }
    for (Index i = 0; i < size; ++i) {
      const double* const own = bins.data() + 4 * i;
      histogram[i] = (own[0] + own[1]) + (own[2] + own[3]);
    }
  }
  for (; t < count; ++t) histogram[tokens[t]] += a[t];
}

POPGRAD_WIDE
void add_pulls(const std::uint16_t* tokens, const double* pull, Index count, double* to) {
#pragma omp simd
  for (Index t = 0; t < count; ++t) to[t] += pull[tokens[t]];
}

}  // namespace popgrad::scb
