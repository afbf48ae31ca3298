#pragma once
/// On which branch of 0 noise takes a run from scratch, to leading order in the noise.
///
/// Near 0, (alpha_V, alpha_A) is multiplied by I + eta M in every step, M as in
/// theorems/scb/rungs/reduced_flow.hpp, and moved by eta (1/T, 0) and noise. Along the left eigenvector
///   y = alpha_V + l alpha_A,  l = (K_Q - 1/T)/g,  g the growth rate,
/// drift and noise add up to a normal number, whose mean over deviation is
///   sqrt((2 + eta g) B/(eta T^2 g w)),  w the variance of one sample's noise along y,
/// and whose sign is the branch. Leading order in 1/T and eta, with W = K_P w:
///   sqrt(2 K_P B/(eta T^2 g W))

#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/noise.hpp"

namespace popgrad::scb::checks {

/// An instance, its noise and its steps.
struct Branching {
  Training<double> training;
  NoiseLevels levels;
  double step = 0;  ///< eta

  [[nodiscard]] double rate() const;  ///< g
  /// w: from the noise of V and, unless `values_only`, of A at the start.
  [[nodiscard]] double noise(bool values_only = false) const;
  /// The part of w from constant noise of A.
  [[nodiscard]] double attention_noise() const;
  /// T d, less what it is at the start, after a time 1/g of the noise of A at <V,V> = K_P.
  [[nodiscard]] double attention_spread(double batch) const;
  /// Share by which w grows until the branch is decided, to first order, with multiplicative noise:
  /// noise of V in all its directions brings <V,V> beyond 0 and noise to A, and that brings d beyond
  /// 1/T and more noise to V.
  [[nodiscard]] double more_noise(double batch) const;
  /// What the share of runs leaves out: the decay of V, which goes with d, and `more_noise`;
  /// infinite where that is not below 1.
  [[nodiscard]] double left_out(double batch) const;
  /// Mean over deviation at a batch size, and the inverse.
  [[nodiscard]] double argument(double batch) const;
  [[nodiscard]] double batch(double argument) const;
  /// Share of `runs` runs of the rung noisy-lumped that end with alpha_V > 0, with its sampling error
  /// and `left_out`.
  [[nodiscard]] Quantity right_share(double batch, std::uint32_t runs, std::uint32_t first_run,
                                     const Setting& setting) const;
};

/// Phi(argument).
double normal_share(double argument);

/// A batch as a count. Throws std::overflow_error for more samples than can be counted.
Index counted(double batch);

}  // namespace popgrad::scb::checks
