#pragma once
/// Covariance of the direction of one sampled sequence along the few directions in which the
/// expected direction moves, and its trace across them, at a cost that does not depend on T.
///
/// With V = u 1' + V_c, u = V(0) mu, 1'V = 1', and A of columns of sum 1, given the query k, the
/// source s, x_s = j and the label y:
///   o     = e_y - u
///   alpha = sum_t a_t e_t,  e_t = one-hot(x_t) - mu
///   r     = o - V_c alpha
///   z     = r' X sum_t w_t e_t
/// where X = B_i, w = a for the component of the direction along B_i (a matrix with 1'B = 0, B mu =
/// 0), and X = V_c, w = eta_A A_1 along the attention A_1. E[z z'] is a sum over (k, s) of products
/// of power sums of a and w over positions, which many positions of the same value make short,
/// times traces of only the B, which are taken once. Exact; derived here, compared in
/// theorems/scb/tests/lumped_moments_test.cpp with all sequences' covariance (sequence_covariance.hpp). Cost
/// O(m^2 N^3) to set up (m <= 2 matrices), O(N Q) a covariance; memory O(m^2 N^2 + N Q).

#include <vector>

#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

class SpanCovariance {
 public:
  /// u (N); the matrices B_i; kappa = |q - 1/T|, by which the unit attention is (q - 1/T)/kappa.
  SpanCovariance(const Bigrams<double>& b, const Vector<double>& level,
                 const std::vector<Matrix<double>>& matrices, double kappa, double rate);

  struct Law {
    Vector<double> mean;        ///< of the components, (m + 1): along the B_i, along A_1
    Matrix<double> covariance;  ///< of them
    double values = 0;          ///< trace across the B_i, in |.|_mu
    double attention = 0;       ///< trace across A_1, in sum_k mu_k |a^k|^2
  };
  /// At V_c = sum_i v_i B_i and a^k = 1/T + y (q^k - 1/T)/kappa. Of what is across these, W =
  /// |.|_mu^2 of V and D = sum_k mu_k |a^k|^2 of A, spread evenly, D enters by its moments, W to
  /// first order.
  [[nodiscard]] Law operator()(const Vector<double>& v, double y, double attention_spread,
                               double value_spread) const;

  /// Independent numbers in what is across, of V and of A: sums of squares of Gaussian components
  /// have a variance of twice their square over this.
  [[nodiscard]] double value_numbers() const { return value_numbers_; }
  [[nodiscard]] double attention_numbers() const { return attention_numbers_; }

 private:
  struct Sums;
  [[nodiscard]] Sums sums(double y, double attention_spread) const;

  Bigrams<double> bigrams_;
  double kappa_, rate_;
  Index matrices_;
  // Expectations over (j, y); N = B_n'B_m is number n m_count + m, R = o'B_m e_j.
  Matrix<double> product_, mixed_, quartic_;  ///< E R R, E R e'Ne, E e'Ne e'N'e
  Vector<double> response_, trace_;           ///< E R, tr(N C)
  Matrix<double> label_;                      ///< E o'B C B'o
  Matrix<double> chained_;                    ///< E o'B C N e_j
  Matrix<double> square_, swapped_;           ///< tr(N C N''C), tr(N C N'C)
  Matrix<double> skew_;                       ///< E[e e'Ne]'B'E o
  double label_size_ = 0, label_size_scaled_ = 0, scaled_square_ = 0;
  Vector<double> response_scaled_, skew_scaled_, trace_scaled_;
  double label_effective_ = 0, value_numbers_ = 0, attention_numbers_ = 0;
};

}  // namespace popgrad::scb
