#pragma once
/// Rung reduced: two numbers, or three from a transfer start.
///
/// On the family
///   V   = mu 1' + alpha_V (P - mu 1') + W,  <W, P> = 0
///   a^k = 1/T + alpha_A (q^k - 1/T)
///   w   = <W, W>
/// the population flow is
///   alpha_V' = c - d alpha_V
///   alpha_A' = K_P alpha_V (1 - alpha_A alpha_V) - w alpha_A
///   w'       = -2 d w
///   c        = 1/T + (K_Q - 1/T) alpha_A
///   d        = 1/T + (K_Q - 1/T) alpha_A^2
/// State: alpha_V, alpha_A, w. Cost O(1). Only + - *.
/// Source: arXiv 2410.23438, Section 3; with w derived here.

#include <span>
#include <string>
#include <vector>

#include "theorems/scb/rungs/geometry.hpp"

namespace popgrad::scb {

template <class T>
class ReducedFlow final {
 public:
  using Scalar = T;

  /// `transition_size` K_P, `context_size` K_Q, `positions` T; the start of alpha_V, w and alpha_A.
  ReducedFlow(T transition_size, T context_size, T positions, T stationary_square, T value_start,
              T residual_start, T attention_start = T(0));
  /// From an instance: alpha_V(0) = <V(0), P>/K_P and what is left of V(0); alpha_A(0) of A(0).
  /// Throws InputError if A(0) is not of the family, to 1e-9.
  explicit ReducedFlow(const Training<T>& training);

  [[nodiscard]] static Index dimension() { return 3; }
  [[nodiscard]] Vector<T> initial() const;
  [[nodiscard]] std::vector<std::string> columns() const;
  [[nodiscard]] std::vector<std::string> state_names() const { return {"alpha_V", "alpha_A", "w"}; }
  void rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const;
  void observe(const Vector<T>& x, const T& t, std::span<T> row) const;
  /// c and d.
  [[nodiscard]] T overlap(const T& alpha_A) const;
  [[nodiscard]] T size(const T& alpha_A) const;
  [[nodiscard]] T loss(const Vector<T>& x) const;

  template <class U>
  [[nodiscard]] ReducedFlow<U> cast() const {
    return ReducedFlow<U>(U(transition_size_), U(context_size_), U(positions_),
                          U(stationary_square_), U(value_start_), U(residual_start_),
                          U(attention_start_));
  }

 private:
  T transition_size_, context_size_, positions_, stationary_square_;
  T value_start_, residual_start_, attention_start_;
};

/// x = (alpha_V, alpha_A) near 0:
///   x'   = M x + b
///   M    = [[-1/T, K_Q - 1/T], [K_P, 0]]
///   b    = (1/T, 0)
///   x(t) = M^{-1} (e^{Mt} - I) b
/// Growth rate (growth_rate below):
///   sqrt(K_P (K_Q - 1/T) + 1/(4 T^2)) - 1/(2 T)
template <Transcendental T>
Vector<T> linearised(const T& transition_size, const T& context_size, const T& positions,
                     const T& t);
/// Along the hyperbola alpha_A alpha_V = 1, at time t >= 0 after the balanced point
///   alpha_V = kappa^{1/4},  kappa = (K_Q - 1/T)/K_P.
/// With e = 1 - alpha_A alpha_V eliminated as fast, v = alpha_V obeys
///   v' = (1 - v)/T v^4/(kappa + v^4),
/// whose integral, solved for v by Newton steps within a bracket, is
///   t/T + const = -(1 + kappa) ln|1 - v| + kappa (ln v - 1/v - 1/(2 v^2) - 1/(3 v^3)).
/// Then, with a = 1/v,
///   e       = -a (1 - v)/(T (K_Q - 1/T) a^2 + T K_P v^2)
///   alpha_A = (1 - e)/v
/// Relative error O(1/T). Derived here.
template <Transcendental T>
Vector<T> along_hyperbola(const T& transition_size, const T& context_size, const T& positions,
                          const T& t);
template <Transcendental T>
T growth_rate(const T& transition_size, const T& context_size, const T& positions);

}  // namespace popgrad::scb
