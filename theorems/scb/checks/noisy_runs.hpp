#pragma once
/// The three-part algorithm from scratch with Gaussian noise in all parts.

#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

/// Part 2 as on expected gradients (part_two_schedule), for three times of its slowest transient.
struct NoisyRuns {
  Training<double> training;
  double weight = 0;  ///< lambda
};

/// The larger normalised distance at the end of every run, NaN for one that diverges; batch 0:
/// expected gradients.
Vector<double> ends_of_runs(const NoisyRuns& noisy, Index batch, std::uint32_t runs,
                            std::uint32_t first_run, const Setting& setting);

/// sigma_A sqrt(2 ln T), the largest sigma_A of a token at the solution: what the noise of a single
/// step reaches at one of T positions, times sqrt(B).
double highest_noise(const Bigrams<double>& bigrams);

}  // namespace popgrad::scb::checks
