#pragma once
/// Rung noisy-lumped: the law of the rung noisy without its T coordinates.
///
/// Of a^k it keeps the values on the support of q^k, the mean m_k of the n_k = T - Q_k others and
/// their centred norm r_k. With eta the step size times the rate of attention and
///   s    = eta sigma_{A,k}/sqrt(B)
///   rho  = 1 - eta <V,V>
///   zbar = (sum z + n zm)/T, zm ~ N(0, 1/n)
/// a step is
///   support  a_t <- a_t + eta (<V,P> (q_t - 1/T) - <V,V> (a_t - 1/T)) + s (z_t - zbar)
///   rest     m   <- (1 - sum of the support)/n
///            r^2 <- (rho r + s g)^2 + s^2 chi^2(n - 2)
/// (n = 1: r = 0; n = 2: no chi^2). Exact in law for stage 1; derived here.
/// State: V by columns, then for each token its support, m_k, r_k.
/// Cost of a step O(N^2 + N Q), for any T; memory O(N^2 + N Q).

#include <span>
#include <string>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "theorems/scb/rungs/gaussian_noise.hpp"
#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/noise.hpp"

namespace popgrad::scb {

/// Normals on the support, of any scalar, less the mean over all positions; `rest_sum` is
/// the sum of the normals of the others, N(0, n).
template <class Z, class T>
void take_off_mean(Z& z, const T& rest_sum, const T& positions) {
  const T mean = (z.sum() + rest_sum) / positions;
  for (Index i = 0; i < z.size(); ++i) z[i] = z[i] - mean;
}

class LumpedDescent final {
 public:
  using Scalar = double;

  /// Linear attention, projected; throws InputError otherwise.
  LumpedDescent(Training<double> training, NoiseLevels levels);

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] Vector<double> initial() const;
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// The expected field; r shrinks at the rate <V,V>.
  void rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const;
  /// One step of size eta in place. Batch 0: no noise.
  void sample_step(Vector<double>& x, double eta, Stream& stream, Index batch) const;
  /// Why a walk here has diverged; empty if it has not.
  [[nodiscard]] std::string divergence(const Vector<double>& x, double step, Index batch) const;
  void observe(const Vector<double>& x, const double& t, std::span<double> row) const;
  /// Where the numbers of token k begin: its support, m_k, r_k.
  [[nodiscard]] Index begin_of(Index token) const;
  [[nodiscard]] double attention_coefficient(const Vector<double>& x) const;
  /// d = sum_k mu_k |a^k|^2.
  [[nodiscard]] double attention_size(const Vector<double>& x) const;

 private:
  struct AttentionPair {
    double overlap = 0, size = 0;  // c, d
  };
  [[nodiscard]] AttentionPair attention_pair(const Vector<double>& x) const;
  Training<double> training_;
  NoiseLevels levels_;
  double transition_size_, context_size_;
  ValueProducts<double> products_;
  // Scratch: without it half of a step is memory that is asked for anew.
  mutable Vector<double> mean_value_;  // V mu
  mutable Vector<double> z_;           // normals of a support, of the longest one
  mutable ValueNoise noise_;
};

}  // namespace popgrad::scb
