#pragma once
/// Quantiles, intervals and decisions that the statistical verdicts share.

namespace popgrad {

/// x with P[N(0,1) <= x] = p, 0 < p < 1.
double normal_quantile(double p);

/// Bound on |Z| that `looks` >= 1 standard normal looks exceed with probability <= false_alarm in
/// all (Bonferroni).
double two_sided_normal_bound(double false_alarm, int looks);

/// x with P[chi^2_n <= x] = p.
double chi_square_quantile(double degrees_of_freedom, double p);

}  // namespace popgrad
