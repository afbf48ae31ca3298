#pragma once
/// Part 2 of the three-part algorithm on expected gradients, and where it settles for small lambda.
///
/// In part 2 A follows V at the rate <V,V>, V the family at the rate d, and only alpha_V creeps. With
///   u_k = what the l1 norm takes off each entry of a^k, over <V,V>
///   e   = by how much alpha_A lags behind 1/alpha_V as alpha_V creeps
/// the state at a given alpha_V is, to first order in lambda,
///   a^k                   = (1/alpha_V + e) q^k - u_k on the support, 0 elsewhere
///   u_k (1 - Q_k/T)       = lambda/<V,V> - e/T       (the mean over t is taken off gradients)
///   alpha_V'              = sum_k mu_k u_k - K_Q e   (c - d alpha_V)
///   e K_P alpha_V^4       = alpha_V'                 (A follows at the rate <V,V>)

#include <cmath>
#include <span>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/rungs/trajectory.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::scb::checks {

inline constexpr double boost_step = 0.05;  ///< eta of part 1
/// Part 1 to 3/4 of the alpha_A of the balanced point; eta_2 a fifth of the fastest relaxation time.
Schedule part_two_schedule(const Bigrams<double>& bigrams, double weight);

/// Of the relaxation onto alpha_A alpha_V = 1 and of A to Q: the least of <V,V> and d on the way.
double slowest_rate(const Bigrams<double>& bigrams);

/// Noise-free run from mu 1' through part 1 and into part 2.
class QuietRun {
 public:
  QuietRun(const Training<double>& training, double weight);

  /// By so many times of the slowest transient; returns the time.
  double advance(double relaxation_times);
  /// Until positions off the support are 0 and transients have passed. Where
  ///   |<V,P> - S <V,V>| > lambda T
  /// the mean that is taken off gradients moves positions off the support together, and the l1 norm
  /// by itself takes them away again, in a time 1/lambda.
  void settle();
  [[nodiscard]] double value() const { return at("alpha_V"); }
  [[nodiscard]] double attention() const { return at("alpha_A"); }
  [[nodiscard]] double distance_P() const { return at("dist_P_normalised"); }
  [[nodiscard]] double distance_Q() const { return at("dist_Q_normalised"); }
  [[nodiscard]] double trained_P() const { return at("dist_P"); }  ///< before it is normalised
  /// What is left of the transients since positions off the support are 0, relative.
  [[nodiscard]] double transient() const;

 private:
  void look();
  [[nodiscard]] double at(std::string_view column) const {
    return row_[place_of(columns_, column)];
  }
  Schedule schedule_;
  LumpedThreePart rung_;
  Vector<double> x_;
  std::vector<std::string> columns_;
  std::vector<double> row_;
  double slowest_ = 0;  ///< rate
  double relaxed_ = 0;  ///< relaxation times since positions off the support are 0
  double entries_ = 0;  ///< positions of all supports
};

/// Q_k^2 |q^k|^2 - Q_k as a sum of squares, so that near 0 it is not what rounding leaves.
double unevenness(const Bigrams<double>& bigrams, Index token);

/// To first order in lambda, at an alpha_V.
struct Settled {
  double distance_P = 0, distance_Q = 0;  ///< after normalisation
  double no_lag_P = 0;                    ///< distance_P with e = 0
  double drift = 0;                       ///< of K_P alpha_V^2 - K_Q alpha_A^2
};
Settled settled_at(const Bigrams<double>& bigrams, double weight, double alpha_V);

/// alpha_V where part 2 settles without an l1 norm: on its way K_P alpha_V^2 - K_Q alpha_A^2 stays,
/// from alpha_V = 3/4 (K_Q/K_P)^(1/4) and, as the threshold leaves sum a^k = 1, alpha_A = 1.
double settled_value(const Bigrams<double>& bigrams);

/// Runs with lambda = weight, weight/2, ... until they have settled, each over what settled_at says.
struct SmallWeights {
  std::vector<double> weight;
  std::vector<Quantity> distance_P, distance_Q, drift;  ///< over their predictions
  double trained_P = 0;  ///< before V is normalised, over the prediction; of the least weight
  double no_lag_P = 0;   ///< what settled_at would say of distance_P with e = 0, over what it says
  double alpha_V = 0;    ///< of the largest weight
  /// Whether Q has a bias above the rounding of a^k: not for one weight a token, up to rounding.
  [[nodiscard]] bool biased() const {
    const Quantity& least = distance_Q.back();
    return std::isfinite(least.value()) && least.error("rounding") < 1;
  }
};
SmallWeights small_weights(const Training<double>& training, double weight);

/// limit_in as lambda goes to 0, at least three values; the change of the limit with the last value
/// counts as next order besides, as the first order may be accidentally small.
Quantity limit_of_weight(std::span<const double> weights, std::span<const Quantity> values);

}  // namespace popgrad::scb::checks
