#pragma once
/// Rung quasi-static: the decoder as if the features had always been what they are (Assumption 1c).
///
///   Y       = F(t) S
///   dS_n/dt = eta_Y w_n (e_n - alpha_n)
///   alpha_n = softmax(sum_j (I + E)_nj S_j)
///   dz_m/dt as in the population flow
/// State: S by rows (K x C), z (pairs), and B_n (K) if growth is tracked. Zero start only.
/// Cost of an evaluation: 3 K^2 C multiply-adds and sum over tokens of (classes that have it)^2.
/// Memory O(nnz(P) + K C + K^2). Source: arXiv 2305.16380, Assumption 1.

#include <span>
#include <string>
#include <vector>

#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"
#include "theorems/scan_snap/rungs/observables.hpp"

namespace popgrad::scan_snap {

template <Transcendental T>
class QuasiStaticFlow final {
 public:
  using Scalar = T;

  /// Throws InputError for a uniform start: Y(0) is F(0) S(0) for no S.
  explicit QuasiStaticFlow(TrainingInstance<T> instance);

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] std::vector<std::string> columns() const { return observer_.columns(); }
  [[nodiscard]] std::vector<std::string> state_names() const;
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] Vector<T> logits_at(const Vector<T>& x) const;

 private:
  void evaluate(const Vector<T>& x) const;

  TrainingInstance<T> instance_;
  Layout layout_;
  Observer<T> observer_;
  Vector<T> multiplicity_;
  // Scratch of one evaluation; a rung is copied for every thread.
  mutable Vector<T> f_;
  mutable Matrix<T> gram_, pulls_;          ///< F'F; S_j.(e_n - alpha_n) in row j, column n (K x K)
  mutable Matrix<T> products_;              ///< f_j.g_n (K x K)
  mutable RowMatrix<T> logits_, residual_;  ///< (K x C)
  mutable Matrix<T> weighted_;              ///< e_n - alpha_n times the multiplicity, a column each
  mutable FittedXi<T> fitted_xi_;
};

}  // namespace popgrad::scan_snap
