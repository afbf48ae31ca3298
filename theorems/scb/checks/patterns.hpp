#pragma once
/// Attention patterns after training, linear or softmax, against Q and each other, and the loss
/// that they leave.
///
/// Patterns are vectors with the product sum_k mu_k a^k.b^k. With c = sum_k mu_k q^k.a^k and
/// d = sum_k mu_k |a^k|^2 the angle phi of A to Q has cos phi = c/sqrt(d K_Q). Whatever made A,
/// where its columns sum to 1 and V keeps its constraints,
///   L - L_least = K_P K_Q/2 sin^2 phi + d/2 <V - V*, V - V*>,  V* = mu 1' + (c/d) (P - mu 1'),
/// V* the best values for A. Derived here.

#include <functional>
#include <vector>

#include "popgrad/evidence/solved.hpp"
#include "popgrad/evidence/statement.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb::checks {

/// Where training has led.
struct Pattern {
  Matrix<double> attention;  ///< A (T x N)
  double alpha_V = 0, alpha_A = 0;
  double excess = 0;  ///< (L - L_least)/(K_P K_Q/2): 1 at the start as T grows, 0 at V = P, A = Q
  double lag = 0;     ///< the part of it by which V is not V*
};

/// Q (T x N); `even`: 1/Q_k on the support.
Matrix<double> pattern_of_law(const Bigrams<double>& bigrams, bool even = false);
/// Column k + 1 in place of column k.
Matrix<double> shifted(const Matrix<double>& attention);
/// Distance of two patterns that are each scaled to length 1: 2 sin(phi/2), 0 to 2.
double apart(const Vector<double>& mu, const Matrix<double>& one, const Matrix<double>& other);
/// sin^2 of their angle.
double sine_square(const Vector<double>& mu, const Matrix<double>& one,
                   const Matrix<double>& other);

/// The population flow at half of a time and at its end.
class TrainedFlow {
 public:
  TrainedFlow(const Training<double>& training, double time);
  /// So many times sqrt(T/(K_P K_Q))/2, the growth time of with_softmax.
  static double time_of(const Bigrams<double>& bigrams, double times);
  [[nodiscard]] Pattern pattern(bool half = false) const;
  /// A number read off the pattern; parts: solver, rounding.
  [[nodiscard]] Quantity read(const std::function<double(const Pattern&)>& number,
                              bool half = false) const;
  /// How far the end is from what is not trained: >= 0 where the loss (as `excess`) is below 1/2
  /// and has fallen by less than 0.01 since half of the time.
  [[nodiscard]] double trained_margin() const;
  /// `excess` over sin^2 phi, with the lag as next order.
  [[nodiscard]] Quantity excess_over_law() const;
  /// |A - Q|^2/K_Q over sin^2 phi.
  [[nodiscard]] double unscaled() const;
  /// sin^2 phi over (1 - alpha_V)^2/(T K_Q), with what attention on the family 1/T + alpha_A (q^k -
  /// 1/T) adds as next order.
  [[nodiscard]] Quantity angle_over_settled() const;

 private:
  [[nodiscard]] Pattern pattern_at(const Vector<double>& x) const;
  [[nodiscard]] double square(const Pattern& pattern) const;  ///< sin^2 phi
  Training<double> training_;
  Solved solved_;
};

/// With softmax attention and eta_A = 4 T, so that it leaves the start in a time sqrt(T/(K_P
/// K_Q))/2 and steps that suit V suit it where it is of order one.
Training<double> with_softmax(Training<double> training);

/// Distances of linear attention to `law`, of softmax to it, of both to each other, and how far
/// their excess losses are apart.
std::vector<Quantity> differences(const TrainedFlow& linear, const TrainedFlow& softmax,
                                  const Vector<double>& mu, const Matrix<double>& law);
/// Pairs of runs, linear and softmax, by plain steps on the same sampled sequences.
class SampledPairs {
 public:
  /// From scratch, with a batch at which the noise of linear steps on A is, to leading order,
  /// `share` of alpha_A^2 K_Q, alpha_A^2 = sqrt(K_P/K_Q) where linear attention settles.
  SampledPairs(Training<double> training, double share, const Setting& setting);
  [[nodiscard]] const Bigrams<double>& bigrams() const { return training_.bigrams; }
  [[nodiscard]] Index batch() const { return batch_; }
  /// As above, means over pairs; part: sampling.
  [[nodiscard]] std::vector<Quantity> differences(const Matrix<double>& law,
                                                  double false_alarm) const;

 private:
  [[nodiscard]] std::vector<Pattern> ends(const Training<double>& training,
                                          const Setting& setting) const;
  Training<double> training_;
  Index batch_ = 1;
  std::vector<Pattern> linear_, softmax_;
};

}  // namespace popgrad::scb::checks
