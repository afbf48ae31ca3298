#pragma once
/// The run of Figs 2 and 3 (linear phi, softmax attention), and what Theorem 2's law makes of it
/// with the gradients of the start.

#include <cstdint>
#include <vector>

#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::checks {

/// Full-batch descent with steps of 0.1.
struct GrowthRun {
  std::vector<double> step;
  std::vector<Matrix<double>> v;  ///< without the query row (M_C x K)
  std::vector<double> range;      ///< largest less smallest (1/2) sum_k v_k^2/T^2
};
inline constexpr double growth_step = 0.1;
/// Saved every `every` steps, from the first; ends at `steps`, or as the range reaches `until`.
GrowthRun growth_run(const ClassInstance<double>& instance, std::uint64_t steps,
                     std::uint64_t every, double until);

/// v' = Delta o exp(sum_k v_k^2/tau + c), Delta = E[g x] and c = z/T less the sum of the start, up
/// to `end` or to just before the blow-up: the law of Theorem 2 for many units, on the clock of exp
/// attention. `halves` is 1/2 in z/T = halves sum_k v_k^2/T^2 + c; Theorem 1 says 1/2.
struct GrowthLaw {
  std::vector<double> s;  ///< exp clock; fine enough for `nearest`
  std::vector<Matrix<double>> v;
};
GrowthLaw growth_law(const ClassInstance<double>& instance, double end, double halves,
                     double tolerance);

/// The least |predicted - change|/|change| of changes since v(0), over all clocks.
struct NearestGrowth {
  double miss = 0;
  double s = 0;
  double gap = 0;  ///< what is between the times of the law
};
NearestGrowth nearest(const GrowthLaw& law, const Matrix<double>& v);
/// On the clock of exp attention, s = t; at the last time before the blow-up if that comes first.
double miss_at(const GrowthLaw& law, const Matrix<double>& v, double t);
/// Of uniform attention, v(0) + s Delta, over all s.
double nearest_straight(const ClassInstance<double>& instance, const Matrix<double>& v);

}  // namespace popgrad::joma::checks
