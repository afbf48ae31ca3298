#pragma once
/// The three-part algorithm: signal boosting, threshold and l1 proximal steps, normalisation.
///
///   1  projected preconditioned steps until alpha_A reaches `boost_until`: of V and A from
///      scratch (three-part), only of A from a transferred V (transfer)
///   2  entries below tau become 0, the rest is rescaled to sum 1; then, with eta_2,
///        a   <- soft(a + eta_2 g, eta_2 lambda)
///        g_t  = q_t <V,P> - a_t <V,V> - (<V,P> - S <V,V>)/T
///      (S is free; the mean over t is taken off, as the mode S is unstable for eta T |mu|^2 > 2)
///   3  nothing moves any more after
///        V   <- mu 1' + (sum_k mu_k S_k) (V - mu 1')
///        a^k <- a^k/S_k
/// Rungs that follow it keep the part and the steps taken in it as the last two numbers of their
/// state. Source: arXiv 2410.23438, Section 3, Algorithm 1; that V stays is what Theorem 4.1 needs
/// (skipping the boosting of V), its own algorithm is not known to us.

#include <cstdint>
#include <string>
#include <vector>

#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

struct Schedule {
  /// V stays in part 1.
  bool transfer = false;
  /// alpha_A at which part 1 ends; 0: 3/4 of where it first settles.
  double boost_until = 0;
  std::uint64_t boost_steps = 0;  ///< it ends after so many steps anyway; 0: no such limit
  double threshold = 0.05;        ///< tau, >= 0
  double l1_step = 0.002;         ///< eta_2 > 0; part 1 takes the step size of the run
  double l1_weight = 0.004;       ///< lambda >= 0
  std::uint64_t l1_steps = 0;     ///< part 2 ends after so many steps; 0: with the run
};

/// What the rungs report besides their own observables: the part, and how many entries of A are not
/// zero; and what they keep behind their own state.
inline std::vector<std::string> with_part_states(std::vector<std::string> names) {
  names.insert(names.end(), {"part", "steps_of_part"});
  return names;
}

enum class Part { boost = 1, l1 = 2, normalised = 3 };

/// The last two numbers of a state.
Part part_of(const Vector<double>& x);
void set_part(Vector<double>& x, Part part);
/// Counts one more step of the part and returns the count.
std::uint64_t count_step(Vector<double>& x);

/// Where alpha_A first settles in part 1 without noise: at (K_P/K_Q)^(1/4); and where V stays, at
/// <V,P>/<V,V>, or, for the default of `boost_until`, at the lower of both.
/// The `boost_until` that a schedule means. Throws InputError for one that the flow does not reach
/// before it creeps, or at all, unless `boost_steps` ends part 1.
double boost_goal(const Schedule& schedule, const Training<double>& training);

/// sign(x) max(|x| - threshold, 0)
inline double soft_threshold(double x, double threshold) {
  if (x > threshold) return x - threshold;
  if (x < -threshold) return x + threshold;
  return 0;
}

}  // namespace popgrad::scb
