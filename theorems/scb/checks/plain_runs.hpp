#pragma once
/// Runs of plain SGD and of the three-part algorithm with the same noise, and how near they come.

#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/rungs/schedule.hpp"

namespace popgrad::scb::checks {

struct NoisyTraining {
  Training<double> training;
  NoiseLevels levels;  ///< multiplicative
  Index batch = 1;
};

/// Runs of the rung noisy-lumped, three-part (plain as long as part 1 does not end); 24 a round with
/// usual effort, and more where a share of them is to be decided at a level below 3e-6.
std::vector<Trajectory<double>> runs_of(const NoisyTraining& setup, const Schedule& schedule,
                                        double step, std::vector<std::uint64_t> saves,
                                        const Setting& setting, std::uint32_t round = 0);

/// The larger of the two normalised distances at a save point, each over its start; a run that has
/// diverged is as far as can be.
std::vector<double> worse_distances(const std::vector<Trajectory<double>>& runs, std::size_t save);

/// The same after `steps` steps of as many runs that take the threshold, but then plain steps of the size
/// of l1 steps.
std::vector<double> distances_without_l1(const NoisyTraining& setup, const Schedule& schedule,
                                         double step, std::uint64_t steps, const Setting& setting,
                                         std::uint32_t round = 0);

/// The same after `steps` steps on expected gradients.
double quiet_distance(NoisyTraining setup, const Schedule& schedule, double step,
                      std::uint64_t steps, const Setting& setting);

/// Share of runs of which the first is the smaller.
Quantity share_nearer(const std::vector<double>& first, const std::vector<double>& second,
                      double false_alarm);

/// What noise sustains in A for eta <V,V> small and T large, mean over tokens.
double sustained_noise(const NoisyTraining& setup, double step);
/// Mean over runs and tokens of |a^k off the support, less its mean|^2 in part 1, over what noise
/// sustains,
///   eta (T - Q_k - 1) sigma_{A,k}^2/(K_P B (2 - eta <V,V>)).
Quantity noise_of_plain(const NoisyTraining& setup, const std::vector<Trajectory<double>>& runs,
                        double step, std::size_t save, const Setting& setting);
/// What is missing of that noise after as many steps again as up to `save`, at most: that of each token is
/// missing by exp(-r_k t) with a rate r_k of its own, in proportion to 2 - eta <V,V>. So it is the mean over
/// tokens of
///   (1 - noise_k)^(1 + rho),  rho = min over the runs of (2 - eta <V,V>)/2,
/// and not the square of the mean over tokens, which is less.
double missing_after_as_long(const NoisyTraining& setup,
                             const std::vector<Trajectory<double>>& runs, double step,
                             std::size_t save, const Setting& setting);
/// By what share that noise lags behind its damping 2 - eta <V,V>, at most: half of what eta <V,V>
/// changes by between two save points, of the run where it is most.
double lag_of_noise(const NoisyTraining& setup, const std::vector<Trajectory<double>>& runs,
                    double step, std::size_t from, std::size_t to);

}  // namespace popgrad::scb::checks
