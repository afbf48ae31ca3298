#pragma once
/// Runs on sampled sequences that begin at the solution V = P, A = Q, and the noise they sustain.

#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "theorems/scb/checks/residual_runs.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/schedule.hpp"

namespace popgrad::scb::checks {

/// Of eight draws that with the largest q_min K_P, as noise of V counts over K_P.
Training<double> clearest_training(Index tokens, Index context, Index support, std::uint64_t seed);
/// That number, and that a drawn instance was chosen by it.
void report_least_pull(const Training<double>& training, Examination& it);

/// Runs from the start of a rung, numbered from `first_run`; what their last step leaves.
std::vector<Trajectory<double>> runs_to_end(const AnyRung<double>& rung, double step_size,
                                            std::uint64_t steps, Index batch, std::uint32_t runs,
                                            std::uint32_t first_run, const Setting& setting);

class SolutionRuns {
 public:
  /// The training from V = P, A = Q; eta = step/K_Q. Cost O(N T).
  SolutionRuns(Training<double> training, double step);

  [[nodiscard]] const Bigrams<double>& bigrams() const { return training_.bigrams; }
  [[nodiscard]] double step() const { return step_; }  ///< eta
  /// The batch below which the noise of A grows without bound while V is P: the largest over tokens
  /// of eta T tr M^2/(mu_k K_P (2 - eta K_P)), M = P C P'.
  [[nodiscard]] double critical() const;
  /// `share` of it, at least one sequence.
  [[nodiscard]] Index batch(double share) const;
  /// Largest sigma_A sqrt(eta K_P/B) of a token.
  [[nodiscard]] double l1_noise(double batch) const;
  /// q_min K_P, what l1 steps must stay below.
  [[nodiscard]] double least_pull() const;
  /// <W,W> that plain steps sustain in V at the solution, eta sigma_V^2 n/(2 K_Q B), n as in
  /// noise.hpp; up to the relative order eta K_Q.
  [[nodiscard]] double noise_of_values(double batch) const;

  struct Formula {
    bool feedback = true;  ///< of the noise of A on itself
    bool weighted = true;  ///< by 1/mu_k
  };
  /// sum_k mu_k E |a^k - q^k|^2 at the end of noise_of_runs, by recursion; up to left_out() of it.
  [[nodiscard]] double derived_noise(Index batch, const Formula& formula) const;
  /// By what share of itself the variance of one sample on A, exact at the solution, is missed.
  [[nodiscard]] double left_out() const;
  /// sum_k mu_k |a^k - q^k|^2 (runs x 1) after 1/(eta K_P) plain steps on A, V kept.
  [[nodiscard]] Matrix<double> noise_of_runs(Index batch, std::uint32_t runs,
                                             std::uint32_t first_run, const Setting& setting) const;
  /// Of runs of 3/(eta K_P) steps on both, with l1 steps unless `weight` is 0: the larger
  /// normalised distance over that of mu 1' and 1/T; of a run that diverges, the largest number.
  [[nodiscard]] std::vector<double> distances(Index batch, double weight, std::uint32_t runs,
                                              std::uint32_t first_run,
                                              const Setting& setting) const;
  /// The batch at which half of such plain runs are below 1, by `runs` runs of residual_runs.hpp,
  /// where `measure` gives their share.
  [[nodiscard]] CriticalBatch half_batch(bool feedback, std::uint32_t runs, const Setting& setting,
                                         const std::function<Quantity(Index)>& measure) const;
  /// The same law and solution at another length and at `times` eta: its supports are the first
  /// positions, which are as good as any.
  [[nodiscard]] SolutionRuns changed(Index context, double times) const;

 private:
  [[nodiscard]] std::uint64_t steps(double times) const;  ///< times/(eta K_P)
  [[nodiscard]] std::vector<Trajectory<double>> walked(const Schedule& schedule, double times,
                                                       Index batch, std::uint32_t runs,
                                                       std::uint32_t first_run,
                                                       const Setting& setting) const;
  Training<double> training_;
  double step_;
  double transition_size_, context_size_;
  double spread_, square_;  ///< tr M C, tr M^2
};

}  // namespace popgrad::scb::checks
