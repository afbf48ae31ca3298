#include <algorithm>
#include <cmath>
#include <numeric>

#include "scalars/wide.hpp"
#include "solving/algebra.hpp"

namespace popgrad::solving {
namespace {

POPGRAD_WIDE double largest_size(const double* entry, Index count) {
  // A maximum and a count a lane: Clang makes no vectors of a maximum over all.
  constexpr Index lanes = 8;
  double largest[lanes] = {};
  double not_numbers[lanes] = {};
  const auto take = [&](Index i, Index lane) {
    const double size = std::fabs(entry[i]);
    largest[lane] = size > largest[lane] ? size : largest[lane];
    not_numbers[lane] += size != size ? 1.0 : 0.0;
  };
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma omp simd
    for (Index lane = 0; lane < lanes; ++lane) take(i + lane, lane);
  }
  for (; i < count; ++i) take(i, 0);
  const bool numbers = std::accumulate(not_numbers, not_numbers + lanes, 0.0) == 0;
  return numbers ? *std::max_element(largest, largest + lanes) : infinity<double>();
}

}  // namespace

double norm_inf(const Vector<double>& x) { return largest_size(x.data(), x.size()); }

}  // namespace popgrad::solving
