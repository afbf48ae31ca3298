#pragma once
/// Stage 1 with softmax attention and noise as SGD's, and its limit as T grows with T/B fixed.
///
/// With eta_A = c T^2, v = T alpha_V and logits w begin at 0 and are of order one where runs leave
/// the start. A step on V adds Gaussian noise of level sigma_V sqrt(d/K_Q) (theorems/scb/rungs/noise.hpp),
/// along P, with C = diag(mu) - mu mu',
///   eta sigma_V sqrt(d/(K_Q B)) |P C|/K_P
/// and d = 1/T at first; that of logits, which <V,V> scales, is O(T^(-1/2)) of it. In the limit
///   dv   = sum_k mu_k q^k.exp(w^k) dt + noise of level sqrt(T/B) sigma_V |P C|/(K_P sqrt(K_Q))
///   dw_t = c K_P v q_t exp(w_t) dt
/// and T alpha_A = sum_k mu_k sum_t q^k_t (exp(w^k_t) - 1)/K_Q. Derived here.

#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

/// Runs that have left the start where T alpha_A is 10.
class SoftmaxBoost {
 public:
  /// eta = step/g, g = sqrt(c K_P K_Q) the growth rate; c = 1.
  SoftmaxBoost(const Bigrams<double>& bigrams, double step);

  /// T/B at which the share of the linear model would be Phi(argument).
  [[nodiscard]] double load(double argument) const;
  /// Share of runs that leave within twice the steps that expected gradients take, with B = T/load,
  /// of the softmax model in a context T; its sampling error, and as next order the noise of logits
  /// and 10/T.
  [[nodiscard]] Quantity share(double positions, double load, std::uint32_t runs,
                               std::uint32_t first_run, const Setting& setting) const;
  /// The same in the limit.
  [[nodiscard]] Quantity limit_share(double load, std::uint32_t runs, std::uint32_t first_run,
                                     const Setting& setting) const;

 private:
  Bigrams<double> bigrams_;
  double step_;
  double transition_size_, context_size_;
  double level_;  ///< sigma_V
  double along_;  ///< |P C|/K_P
};

}  // namespace popgrad::scb::checks
