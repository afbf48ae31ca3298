#pragma once
/// Steps on A from 1/T while V stays, and a threshold at half of what the least q gets; sequences are
/// drawn, or noise is Gaussian.
///
/// With r = 1 - eta <V,V> and s_k the deviation of Gaussian noise in one step, k steps leave
///   a_t - 1/T = eta <V,P> (1 - r^k)/(1 - r) (q_t - 1/T) + s_k sqrt((1 - r^(2k))/(1 - r^2)) g_t,
/// signal over noise of one step with as many times its batch as
///   k_eff = (1 - r^k)(1 + r)/((1 + r^k)(1 - r)) < k.

#include <functional>
#include <span>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/noise.hpp"

namespace popgrad::scb::checks {

inline constexpr Hypothesis positive_correlation{"positive correlation"};
inline constexpr Hypothesis gaussian_noise = assumed(
    "noise of `A` Gaussian, of variance `sigma_A^2 <V,V>/K_P`",
    "`sigma_A` that at the solution; at `A = 1/T` that of sequences is larger, and later it grows "
    "with what `A` has off the supports (`scb.transfer-growth`)");
inline constexpr Control independent_batch{"independent", "a batch independent of `T`"};

inline constexpr Knob kernel_size =
    logarithmic_knob("theta", "size of the transfer start, in units of P - mu 1'", 0.3, 0.8, 0.5);
inline constexpr Knob lost_correlation =
    linear_knob("lost-correlation", "the same, not positive; 1: as correlation says", -0.5, -0.01,
                1)
        .breaking(positive_correlation);
inline constexpr Knob found_level =
    linear_knob("level", "probability that all supports are found", 0.6, 0.8, 0.7);

/// `fresh` from V(0) = mu 1' + theta (P_hat - mu 1'); rho as `correlation` says, or lost.
Training<double> correlated_start(Training<double> fresh, const Knob& correlation,
                                  const Setting& setting);

/// ln of the probability, up to O(1/T), that all positions of the supports and no others reach the
/// threshold,
///   sum_k (T - Q_k) ln Phi(z_k) + sum_t ln Phi((2 q^k_t/q_min - 1) z_k),  z_k = scale/sigma_{A,k}.
double log_found(const Bigrams<double>& bigrams, const NoiseLevels& levels, double scale);
/// The probability, with what it leaves out: the mean over t that is taken off makes variances
/// smaller by 1/T; and a position gained for one lost is not noticed by found_share.
Quantity found_probability(const Bigrams<double>& bigrams, const NoiseLevels& levels, double scale);
/// The scale at which the probability is `level`, by bisection.
double scale_for(const Bigrams<double>& bigrams, const NoiseLevels& levels, double level);

/// The batch at which the probability is a level, at several lengths, and the probability there:
/// as derived, and as mistakes would have it.
struct BatchGrowth {
  std::vector<double> batch;
  std::vector<Quantity> found;
  std::vector<Quantity> independent;  ///< if the shortest length were the only one
  std::vector<Quantity> power;        ///< if the batch went as T^p, p from the first and last batch
  /// If a batch were worth as many times as much.
  [[nodiscard]] std::vector<Quantity> larger_by(double factor) const;
  std::function<double(std::size_t place, double factor)> chance;  ///< at `factor` times the batch
};
/// At `growth` times the context of `bigrams`; scale = per_root sqrt(B).
BatchGrowth batches_found(const Bigrams<double>& bigrams, const NoiseLevels& levels,
                          double per_root, std::span<const double> growth, double level);

/// Steps of part 1 while V stays.
struct FrozenSteps {
  double step = 0.05;  ///< eta; of no consequence for one step: signal and noise go with it alike
  std::uint64_t count = 1;
  /// k_eff for V(0) of an instance.
  [[nodiscard]] double worth(const Training<double>& training) const;
  /// Half way between what positions off the support and those of the least q get, without noise.
  [[nodiscard]] double threshold(const Training<double>& training) const;
};

/// Share of `setting.draws(2000)` runs of which as many positions survive as the supports have, with
/// Gaussian noise.
Quantity found_share(const Training<double>& training, const NoiseLevels& levels,
                     const FrozenSteps& steps, Index batch, std::uint32_t first_run,
                     const Setting& setting);
/// The same of `runs` runs on sequences.
Quantity found_share_on_sequences(const Training<double>& training, const FrozenSteps& steps,
                                  Index batch, std::uint32_t runs, std::uint32_t first_run,
                                  const Setting& setting);

}  // namespace popgrad::scb::checks
