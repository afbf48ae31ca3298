#pragma once
/// How often each of K equally likely classes is drawn, and what its count makes of its decoder.
///
/// After N draws, N_n of class n and Nbar = N/K on average,
///   W_n           = (1 + theta_n) (M-1) h(Nbar) zeta_n
///   e_n - alpha_n = (1 + sigma_n) (M-1)/(M - 1 + exp(M h(Nbar))) zeta_n
///   1 + theta_n   = h*(N_n)/h(Nbar)
///   1 + sigma_n   = (M - 1 + exp(M h(Nbar)))/(M - 1 + exp(M h*(N_n)))
/// Source: arXiv 2305.16380, Theorem 5 and Corollary 1.

#include <cstdint>
#include <functional>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/vector.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"

namespace popgrad::scan_snap::checks {

/// N draws of K equally likely classes.
struct DrawnClasses {
  Decoder decoder;
  Index classes = 0;  ///< K
  long draws = 0;     ///< N
  [[nodiscard]] double k() const { return static_cast<double>(classes); }
  [[nodiscard]] double n() const { return static_cast<double>(draws); }
  [[nodiscard]] double mean() const { return n() / k(); }
  /// Delta = sqrt(N ln(1/delta)) of Lemma 10.
  [[nodiscard]] double deviation(double delta) const;
};

/// Of the user's instance, or of knobs; draws = 0. Evaluates the hypotheses that do not need N.
DrawnClasses drawn_classes(const Setting& setting, Examination& it);
/// Knobs of K, M and eta_Y, and one more.
std::vector<Knob> drawn_class_knobs(const Knob& more);
/// Their texts, and `more`.
std::vector<Hypothesis> drawn_class_hypotheses(std::vector<Hypothesis> more);

/// theta and sigma of a class by its count, 0 to N, and s h'/h at s = N/K. Cost O(N).
struct CountNoise {
  std::vector<double> theta, sigma;
  double elasticity = 0;
  explicit CountNoise(const DrawnClasses& at);
};

/// Probabilities of the counts first, first + 1, ...; what is left out is below 1e-30.
struct CountLaw {
  long first = 0;
  std::vector<double> probability;
};
CountLaw binomial_law(long draws, double probability);
CountLaw poisson_law(double mean);
/// sum of f(count) over the law.
double expectation(const CountLaw& law, const std::function<double(long)>& f);
/// The smallest b with P[|table[count]| > b] <= beyond; counts beyond the table have its last value.
double quantile(const CountLaw& law, const std::vector<double>& table, double beyond);

/// The quantile b with P[|x| > b] = beyond behind independent draws of x, of any law: the
/// middle between two order statistics that enclose it, with half their distance as the part
/// "sampling".
Quantity sampled_quantile(std::vector<double> draws, double beyond, double false_alarm);

/// Counts (runs x K) of random draws; `step` names the stream.
Matrix<std::uint32_t> drawn_counts(const DrawnClasses& at, std::uint32_t runs, std::uint64_t seed,
                                   std::uint64_t step);
/// max_n |table[N_n]| of each run.
std::vector<double> largest_of(const std::vector<double>& table,
                               const Matrix<std::uint32_t>& counts);

/// ln of the rms of theta_n over s h'/h at s = N/K, of counts whose columns are the classes or equal
/// parts of each. Parts: sampling; "next order": what the exact law has beyond sqrt((K - 1)/N).
Quantity log_rms_of_theta(const DrawnClasses& at, const Matrix<std::uint32_t>& counts,
                          double false_alarm);

/// Draws of a class until |e_n - alpha_n|_2 <= eps: of h in continuous time, and whole ones of h*.
double draws_until(const Decoder& decoder, double eps);
long discrete_draws_until(const Decoder& decoder, double eps);

/// Draws in all until each of K equally likely classes has come `least` times: the mean,
///   K int_0^infinity 1 - P[Poisson(u) >= least]^K du,  part "solver";
/// and the number that each of `runs` runs takes.
/// Source: Newman and Shepp, Am. Math. Monthly 67 (1960) 58.
Quantity mean_draws_for_all(Index classes, long least);
std::vector<double> drawn_for_all(Index classes, long least, std::uint32_t runs, std::uint64_t seed,
                                  std::uint64_t step);

}  // namespace popgrad::scan_snap::checks
