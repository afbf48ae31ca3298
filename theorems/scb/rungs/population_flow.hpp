#pragma once
/// Rungs flow and gd: expected gradients of values V and attention A, in Q_k + 1 numbers for the T
/// positions of token k.
///
///   dV/dt   = c (P - mu 1') - d (V - mu 1')
///   da^k/dt = eta_A (<V,P> (q^k - 1/T) - <V,V> (a^k - 1/T))
///   c       = sum_k mu_k q^k.a^k
///   d       = sum_k mu_k |a^k|^2
/// (preconditioned by D^{-1} and 1/mu_k, projected onto the constraints, eta_A the rate of
/// attention; exact, Lemma of Section 3). Positions outside the support of q^k stay equal, so a^k
/// is its support and their mean m_k. Softmax:
///   a^k     = softmax(w^k)
///   dw^k/dt = eta_A J_k (<V,P> q^k - <V,V> a^k)
///   J_k     = diag(a^k) - a^k a^k'
/// State: V by columns (N x N), then for each token its support and the value of the rest.
/// Cost of an evaluation O(N^2 + N Q), for any T. Memory the same.
/// Source: arXiv 2410.23438, Section 3.1; the exact form with constraints is derived here.

#include <span>
#include <string>
#include <vector>

#include "theorems/scb/rungs/geometry.hpp"
#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

template <class T>
struct AttentionSums;

template <class T>
class PopulationFlow final {
 public:
  using Scalar = T;

  explicit PopulationFlow(Training<T> training);

  [[nodiscard]] Index dimension() const;
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const;
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  /// Why a walk here has diverged; empty if it has not.
  [[nodiscard]] std::string divergence(const Vector<T>& x, double step, Index batch) const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;

  [[nodiscard]] const Training<T>& training() const { return training_; }
  /// Expected loss 1/2 E |e_y - V X a^k|^2.
  [[nodiscard]] T loss(const Vector<T>& x) const;

 private:
  using ConstBlock = Eigen::Map<const Matrix<T>>;
  [[nodiscard]] ConstBlock values(const Vector<T>& x) const;
  /// Attention of token k: weight of entry e at e + k of the list, of one other position behind.
  void attend(const Vector<T>& x) const;
  [[nodiscard]] std::vector<AttentionSums<T>> sums(const Vector<T>& x) const;
  /// Of one token, after `attend`.
  [[nodiscard]] AttentionSums<T> sums_of(Index token) const;

  Training<T> training_;
  T transition_size_, context_size_;
  ValueProducts<T> products_;
  Vector<T> mean_next_;  ///< P mu
  // Scratch.
  mutable Vector<T> attention_;   ///< laid out as in the state
  mutable Vector<T> mean_value_;  ///< V mu
};

}  // namespace popgrad::scb
