#pragma once
/// Rung reduced: only attention logits, the decoder summed up by one number h (Eqn 10).
///
///   dz_m/dt = eta_Z gamma sum_{n: psi(n) = m} w_n diag(f_n) (f_n f_n' - I) p_n
///   p_n     = sum_{j != n} beta_nj f_j
///   gamma   = (M-1)^2 h / (M - 1 + exp(M h))
///   dh/dt   = (1/K) eta_Y / (M - 1 + exp(M h)),  h(0) = 0
/// State: z (pairs), h, and B_n (K) if growth is tracked. beta, xi: see backprop.hpp.
/// Clock: t counts steps of batch 1, w = 1/K in both sums; the paper's reading (w = 1 in z') is
/// `Clock::paper`.
/// Cost of an evaluation: K^3 and sum over tokens of (classes that have it)^2. Memory O(nnz + K^2).
/// Source: arXiv 2305.16380, Theorem 1 and Eqn 10.

#include <span>
#include <string>
#include <vector>

#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/inverse.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/observables.hpp"

namespace popgrad::scan_snap {

template <Transcendental T>
class ReducedFlow final {
 public:
  using Scalar = T;

  explicit ReducedFlow(TrainingInstance<T> instance);
  /// `vocabulary` stands for M in the formulas (a symbol, where the formula is to be printed).
  ReducedFlow(TrainingInstance<T> instance, T vocabulary);

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] static std::vector<ObservableInfo> observables();
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  /// The columns of all rungs, then h and gamma.
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] Vector<T> logits_at(const Vector<T>& x) const { return x.head(layout_.pairs()); }
  [[nodiscard]] Vector<T> features_at(const Vector<T>& x) const;

 private:
  void evaluate(const Vector<T>& x) const;
  [[nodiscard]] T gamma(const T& h) const;

  TrainingInstance<T> instance_;
  T vocabulary_;
  Layout layout_;
  Observer<T> observer_;
  // Scratch of one evaluation; a rung is copied for every thread.
  mutable Vector<T> f_, relative_xi_;
  mutable Matrix<T> gram_, beta_;
  mutable GramInverse<T> inverse_;
};

}  // namespace popgrad::scan_snap
