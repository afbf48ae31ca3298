#pragma once
/// Predicted law of sgd in large states: means and standard deviations over runs of sgd, in a handful of
/// numbers for any N and T.
///
/// For linear attention, projected, the gradients of all observables lie for ever in the span of
///   B_1 along P_c = P - P mu 1',  B_2 along V(0) - V(0) mu 1' less its part in P_c,
///   A_1 along q - 1/T,
/// orthonormal in <,> and in sum_k mu_k a^k.b^k: the adjoint maps the span to itself, so that the
/// covariance of the components along it is closed. With v_i = <B_i, V>, y = sum_k mu_k A_1^k.a^k,
/// and W and D the mean squares of what is across the span in V and in A,
///   c     = 1/T + kappa y             kappa^2 = K_Q - 1/T
///   d     = 1/T + y^2 + D
///   omega = |v|^2 + W
///   v_i'  = c <B_i, P> - d v_i
///   y'    = eta_A (kappa sum_i <B_i, P> v_i - omega y)
///   W    <- (1 - eta d)^2 W + eta^2/B tr_V
///   D    <- (1 - eta eta_A omega)^2 D + eta^2/B tr_A
/// and one draw has the covariance of span_covariance.hpp along the span and the traces tr_V and
/// tr_A across it, all exact. Mean and covariance of (v, y, D, W) go as in
/// popgrad/fluctuations/prediction.hpp, at two orders; W and D, sums of many squares, enter both as their
/// means. Their own deviation, sqrt(2/n) of them with n the numbers across the span, is added to
/// those of the observables; what it does to (v, y) is left out, and its size is part of
/// `second_order`. What W does to the noise is taken to first order. Both take isotropy across the
/// span for granted; both are of the next order in eta/B, which is what the deviations differ by
/// from those of the full covariance (measured in tests).
///
/// A saved law is that of prediction.hpp for four or five numbers. Cost of a step O(N Q), to set up
/// O(N^3); memory O(N^2 + N Q). Derived here.

#include <memory>
#include <string>

#include "popgrad/fluctuations/prediction.hpp"
#include "theorems/scb/rungs/instance.hpp"
#include "theorems/scb/rungs/span_covariance.hpp"

namespace popgrad::scb {

class LumpedMoments final {
 public:
  using Scalar = double;

  /// Why it does not serve this training; empty if it does.
  [[nodiscard]] static std::string missing(const Training<double>& training);

  /// `missing` must be empty.
  explicit LumpedMoments(const Training<double>& training);

  /// Matrices B_i: one, or two where V begins off the line from u 1' to P.
  [[nodiscard]] Index matrices() const { return along_.size(); }
  [[nodiscard]] Index dimension() const { return matrices() + 3; }
  /// v, y, D, W.
  [[nodiscard]] Vector<double> initial() const;
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// The steps whose noise drives D and W from here on; none until then.
  void set_steps(double eta, Index batch);
  void rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const;
  /// Of the components along the span; 0 for D and W.
  void draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                       Matrix<double>& images) const;
  void observe(const Vector<double>& x, const double& t, std::span<double> row) const;
  [[nodiscard]] std::string divergence(const Vector<double>& x, double step, Index batch) const;
  /// Variances of the observables by the deviations of D and W (columns).
  [[nodiscard]] Vector<double> variance_across(const Vector<double>& x) const;
  /// The larger of the relative deviations of d by that of D and of omega + K_P by that of W, by
  /// which what happens along the span is not affected here; part of `second_order`.
  [[nodiscard]] double neglected_across(const Vector<double>& x) const;

 private:
  struct Fixed;
  [[nodiscard]] double attention_numbers() const;
  [[nodiscard]] double value_numbers() const;
  [[nodiscard]] SpanCovariance::Law law_of_draw(const Vector<double>& x) const;

  std::shared_ptr<const Fixed> fixed_;
  Vector<double> along_;  ///< <B_i, P>
  Vector<double> start_;
  double eta_ = 0, noise_ = 0;  ///< eta, eta/B
};

/// The prediction. Throws InputError, which says what is missing, if it does not serve.
Prediction lumped_moments(const Training<double>& training);

}  // namespace popgrad::scb
