#pragma once
/// The run of Figs 2 and 3 (linear phi, softmax attention), and what Theorem 2's law makes of it.
///
/// The law is v' = E[g x] o a, with a = exp(z/T) up to a clock, and z from Theorem 1.

#include <cstdint>
#include <vector>

#include "theorems/joma/rungs/instance.hpp"

namespace popgrad::joma::checks {

/// Full-batch descent with steps of 0.1.
struct GrowthRun {
  std::vector<double> step;
  std::vector<Matrix<double>> v;  ///< without the query row (M_C x K)
  std::vector<double> range;      ///< largest less smallest (1/2) sum_k v_k^2/T^2
  /// The change of v that the gradients of the time make with a given attention,
  ///   sum over steps of eta E[g x] o a/(E[x].a)
  /// a = exp(z/T) of the time; of the start; and of the time with twice the change of z.
  std::vector<Matrix<double>> attended, unattended, doubled;
};
inline constexpr double growth_step = 0.1;
/// Saved every `every` steps, from the first, and as the range reaches each of `until` (ascending);
/// ends at `steps` or at the last of them.
GrowthRun growth_run(const ClassInstance<double>& instance, std::uint64_t steps,
                     std::uint64_t every, const std::vector<double>& until);

/// The law with Delta = E[g x] of the start, up to `end` or to just before the blow-up:
///   v'   = Delta o a
///   T z' = 2 halves sum_k (v_k o v_k' - b_bar v_k.v_k')
/// exp:     a = exp(z/T), b_bar = 0: Theorem 2 for many units, z/T = halves sum_k v_k^2/T^2 + c
/// softmax: a = exp(z/T)/(E[x].exp(z/T)), b_bar = E[x] o a: Theorem 1 where b_bar factors out
/// Theorem 1 says halves = 1/2.
struct GrowthLaw {
  std::vector<double> s;  ///< the law's clock; fine enough for `nearest`
  std::vector<Matrix<double>> v;
};
GrowthLaw growth_law(const ClassInstance<double>& instance, Attention attention, double end,
                     double halves, double tolerance);

/// The least |predicted - change|/|change| of changes since v(0), over all clocks.
struct NearestGrowth {
  double miss = 0;
  double s = 0;
  double gap = 0;  ///< what is between the times of the law
};
NearestGrowth nearest(const GrowthLaw& law, const Matrix<double>& v);
/// On the law's own clock, s = t; at the last time before the blow-up if that comes first.
double miss_at(const GrowthLaw& law, const Matrix<double>& v, double t);
/// Of v(0) + r way, over all rates r.
double miss_at_best_rate(const Matrix<double>& way, const Matrix<double>& v,
                         const Matrix<double>& v0);
/// The same along straight lines, attention staying as it starts: way = Delta o exp(z(0)/T).
double nearest_straight(const ClassInstance<double>& instance, const Matrix<double>& v);

}  // namespace popgrad::joma::checks
