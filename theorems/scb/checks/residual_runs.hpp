#pragma once
/// SGD on A, and on V or not, by what each sample leaves unexplained, without sequences: at any T.
///
/// A sample of query k and label y, h = X a^k, moves a^k_t by
///   eta V_{x_t}'r/(B mu_k),  r = e_y - V h,
/// less the mean over t, and V by eta r h' D^{-1}/B. Off the support of q^k the token x_t depends on r
/// through a_t only, which by that moves back at the rate <V,V>. Given the r of all samples, positions
/// off the support are then independent, and
///   ln E exp(u a_t) = sum over samples of ln sum_x mu_x exp(u w V_x'r)
/// with w = eta/(B mu_k) times 1 - eta <V,V> for every step since. What A has there is in r as well: it
/// gives h a normal part of covariance C sum (a_t - mean)^2, C = diag(mu) - mu mu', and the sum moves
/// by a chi^2 as in lumped_descent.hpp. So a run needs samples of k, y and the tokens on the support. Up to O(1/T). Derived here.

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/random.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

struct ResidualRequest {
  double step = 0;  ///< eta
  std::uint64_t steps = 0;
  bool values_move = false;
  bool feedback = true;  ///< what A has off the supports is in r
};

class ResidualRuns {
 public:
  /// Linear, projected; V(0) and A(0) of the training, A(0) even off the supports.
  explicit ResidualRuns(const Training<double>& training);

  /// Probability that as many positions are above `threshold` at the end as the supports have: the
  /// mean over `runs` runs of that given r. Next order: what 1/T changes of the spread about the mean
  /// over t. Cost O(runs k B N (N + 20)) for k steps, memory O(k B N) a thread.
  [[nodiscard]] Quantity found(const ResidualRequest& request, double threshold, Index batch,
                               std::uint32_t runs, const Setting& setting) const;
  /// Share of runs that end nearer to P and to Q than mu 1' and 1/T are; next order as above.
  [[nodiscard]] Quantity near(const ResidualRequest& request, Index batch, std::uint32_t runs,
                              const Setting& setting) const;

 private:
  struct Own;
  struct State;
  [[nodiscard]] State ran(const ResidualRequest& request, Index batch, bool about_mean,
                          Stream& stream) const;
  [[nodiscard]] double elsewhere(const Own& own) const;
  [[nodiscard]] double chance(const State& state, double threshold, bool about_mean) const;
  /// The larger of |V - P|_mu^2 and sum_k mu_k |a^k - q^k|^2, over those of mu 1' and 1/T.
  [[nodiscard]] double square_distance(const State& state) const;
  /// Mean over runs of a number at the end.
  template <class Number>
  [[nodiscard]] Quantity mean(const ResidualRequest& request, Index batch, std::uint32_t runs,
                              const Setting& setting, Number number) const;

  const Training<double>& training_;
  const Bigrams<double>& b_;
  Vector<double> roots_;  ///< sqrt(mu)
  AliasTable tokens_;
  std::vector<AliasTable> next_, positions_;
};

/// Where the share of runs that succeed, which grows with the batch, is `level`.
struct CriticalBatch {
  double level = 0;
  Index batch = 1;  ///< near it
  Quantity law;     ///< the share at `batch`, derived
  Quantity slope;   ///< of its logit in ln B
  Quantity share;   ///< the share at `batch`, measured

  [[nodiscard]] Quantity derived() const { return from(law); }
  [[nodiscard]] Quantity measured() const { return from(share); }
  /// measured() over derived(): the slope that both have counts only for what the shares differ by.
  [[nodiscard]] Quantity ratio() const;
  /// The derived share at another batch.
  [[nodiscard]] Quantity law_at(double other) const;

 private:
  [[nodiscard]] Quantity from(const Quantity& own) const;
};

/// `law(batch, runs)` estimates the share from so many runs, `measure(batch)` is called once; the search begins at `first`.
/// Throws Failure for a level that no batch up to 10^8 has.
CriticalBatch critical_batch(double level, double first, std::uint32_t runs,
                             const std::function<Quantity(Index, std::uint32_t)>& law,
                             const std::function<Quantity(Index)>& measure);

}  // namespace popgrad::scb::checks
