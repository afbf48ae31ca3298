#pragma once
/// Means, variances and shares over runs, with their sampling errors.

#include <cstdint>
#include <vector>

#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// Moments of k numbers over n runs.
struct SampleMoments {
  std::vector<Quantity> mean;      ///< (k); part "sampling" from Student's t
  std::vector<Quantity> variance;  ///< (k); part "sampling" from the fourth moment, for any law
};
/// `samples` is n x k, n >= 4. Both moments of all k together are off by more than their sampling
/// parts with probability at most `false_alarm` (Bonferroni; for the variances as n grows).
SampleMoments sample_moments(const Matrix<double>& samples, double false_alarm);

/// The probability of success behind `successes` of `runs`: the middle of the exact (Clopper and
/// Pearson) interval, with half its width as the part "sampling".
Quantity success_probability(std::uint32_t successes, std::uint32_t runs, double false_alarm);

/// Deviations of `draws` draws (batch 1) of the random field at x from its expectation, (n x
/// draws); `step` chooses the draws.
Matrix<double> sampled_deviations(const AnyRung<double>& rung, const Vector<double>& x,
                                  std::uint32_t draws, std::uint64_t seed, std::uint64_t step);

}  // namespace popgrad
