#pragma once
/// Scan and snap with a residual connection: the decoder reads the query token together with what
/// attention averages.
///
///   phi_n   = (f_n + e_m)/|f_n + e_m|,   m = psi(n), e_m one-hot
///   alpha_n = softmax(Y' phi_n)
///   g_n     = Y (e_n - alpha_n)
///   dY/dt   = eta_Y sum_n w_n phi_n (e_n - alpha_n)'
///   dz_m/dt = eta_Z sum_{n: psi(n) = m} w_n diag(f_n) (I - f_n f_n') (I - phi_n phi_n') g_n
///                                           / |f_n + e_m|
/// DecoderRule::fast replaces the line of Y as Lemma 3 does, with phi in place of f:
///   dY/dt   = eta_Y sum_n w_n Phi (Phi'Phi)^{-1} e_n (e_n - alpha_n)'
/// State: Y by rows (tokens of some context, then queries that are in none; x C, see Layout), z
/// (pairs); 0 at first. Clock: t counts steps of batch 1. Cost of an evaluation: 4 R K C
/// multiply-adds, dense. Source: arXiv 2305.16380, Section 7, where it is a sketch.

#include <span>
#include <string>
#include <vector>

#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::scan_snap::checks {

/// How the error passes the second normalisation on its way to attention.
enum class Backward {
  gradient,
  without_projection,  ///< I in place of I - phi phi'
  without_norm,        ///< 1 in place of 1/|f + e_m|
};

/// For double and Expression.
template <Transcendental T>
class ResidualFlow final {
 public:
  using Scalar = T;

  explicit ResidualFlow(TrainingInstance<T> instance, DecoderRule rule = DecoderRule::gradient,
                        Backward backward = Backward::gradient);

  [[nodiscard]] Index dimension() const { return table() + layout_.pairs(); }
  [[nodiscard]] Vector<T> initial() const { return Vector<T>::Constant(dimension(), T(0)); }
  [[nodiscard]] std::vector<std::string> columns() const { return {"loss"}; }
  [[nodiscard]] std::vector<std::string> state_names() const;
  [[nodiscard]] Vector<T> rates() const;
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;
  /// rhs as a value.
  [[nodiscard]] Vector<T> field(const Vector<T>& x) const;

  /// Mean cross entropy of the next token, nats.
  [[nodiscard]] T loss(const Vector<T>& x) const;
  [[nodiscard]] const TrainingInstance<T>& instance() const { return instance_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  /// z (pairs) of a state or of its rate.
  [[nodiscard]] Vector<T> logits_at(const Vector<T>& x) const;
  /// F and Phi (R x K), g (R x K), at a state.
  [[nodiscard]] Matrix<T> averages_at(const Vector<T>& x) const;
  [[nodiscard]] Matrix<T> inputs_at(const Vector<T>& x) const;
  [[nodiscard]] Matrix<T> pulls_at(const Vector<T>& x) const;

 private:
  [[nodiscard]] Index rows() const { return static_cast<Index>(row_token_.size()); }
  [[nodiscard]] Index table() const { return rows() * layout_.columns(); }
  /// Leaves f, phi, e - alpha and g; returns the loss.
  T evaluate(const Vector<T>& x) const;

  TrainingInstance<T> instance_;
  DecoderRule rule_;
  Backward backward_;
  Layout layout_;
  std::vector<Index> row_token_;  ///< token of each row of Y (R)
  std::vector<Index> query_row_;  ///< row of psi(n) (K)
  Vector<T> multiplicity_;
  // Scratch of one evaluation; a rung is copied for every thread.
  mutable Vector<T> f_, norm_;            ///< by entries; |f_n + e_m| (K)
  mutable Matrix<T> averages_, phi_, g_;  ///< (R x K)
  mutable RowMatrix<T> residual_;         ///< e_n - alpha_n in row n (K x C)
};

}  // namespace popgrad::scan_snap::checks
