#pragma once
/// Quantiles, intervals and decisions that the statistical verdicts share.

#include <cstddef>
#include <span>
#include <vector>

namespace popgrad {

/// x with P[N(0,1) <= x] = p, 0 < p < 1.
double normal_quantile(double p);

/// Bound on |Z| that `looks` >= 1 standard normal looks exceed with probability <= false_alarm in
/// all (Bonferroni).
double two_sided_normal_bound(double false_alarm, int looks);

/// Bound on |t| that `looks` >= 1 looks at Student's t exceed with probability <= false_alarm in
/// all (Bonferroni).
double two_sided_student_bound(double degrees_of_freedom, double false_alarm, double looks);

/// x with P[chi^2_n <= x] = p.
double chi_square_quantile(double degrees_of_freedom, double p);

/// P[F <= x] of Fisher's F with these degrees of freedom, and the x where it is p.
double fisher_probability(double numerator_freedom, double denominator_freedom, double x);
double fisher_quantile(double numerator_freedom, double denominator_freedom, double p);

/// P[at least `seen` marked ones] among `drawn` of `all`, of which `marked` are: the hypergeometric law.
double hypergeometric_tail(unsigned seen, unsigned marked, unsigned drawn, unsigned all);

/// The upper one of an even number. At least one value.
double median(std::vector<double> values);

/// A share, or a ratio, and what it may be.
struct Share {
  double value = 0, low = 0, high = 1;
};
/// Wilson's interval for the probability of `successes` of `trials` >= 1 independent trials, two-sided
/// of the given level: 0.05 for 95 %. It lies in [0, 1] and is not empty at 0 or all successes.
/// Source: Wilson, J. Am. Stat. Assoc. 22 (1927) 209.
Share wilson_interval(double successes, double trials, double level);

/// Of independent values: their mean, and the half width of its interval by Student's t, which is infinite
/// for fewer than two.
struct MeanInterval {
  double value = 0, half_width = 0;
  std::size_t count = 0;
};
/// Two-sided of the given level: 0.05 for 95 %.
MeanInterval mean_interval(std::span<const double> values, double level);

/// Is a deviation shown to be within a resolution, beyond it, or neither?
enum class Equivalence { within, beyond, undecided };
/// From an interval deviation +- half_width: within if it lies in [-resolution, resolution], beyond
/// if it does not meet it. A wide interval can therefore never pass for agreement.
Equivalence equivalence(double deviation, double half_width, double resolution);

/// Runs that bring the half width z deviation / sqrt(n) of a mean down to `half_width`, z the bound
/// of two_sided_normal_bound.
double runs_needed(double z, double deviation, double half_width);

/// Spearman's rank correlation, ties at their mean rank; NaN where one side is constant or n < 3. Cost
/// O(n log n); called again for as many pairs, it allocates nothing.
class RankCorrelation {
 public:
  double operator()(std::span<const double> x, std::span<const double> y);

 private:
  std::vector<std::size_t> order_;
  std::vector<double> x_rank_, y_rank_;
};

}  // namespace popgrad
