#pragma once
/// Loss over attention weights: L(alpha, beta), exact for every scalar.
///
/// A query word gives weight alpha to its own word, beta to the other words of its topic, 1 to all
/// others; a [MASK] query attends uniformly. Outputs are then linear in (alpha, beta) over
///   N_x = alpha pi_x + beta (v - 1) pi_x + 1 - v pi_x,  x = [its topic is in the document],
/// so that, with quadratic Q and linear P,
///   L = constant + sum_x (Q_x(alpha, beta)/N_x^2 - P_x(alpha, beta)/N_x)
/// For block values (w0, d, s', u'), y as x of another topic:
///   out_i = (w0 p0 + (d alpha + s' beta (v-1)) pi_x + u' (1 - p0 - v pi_x))/N_x            own word
///   out_s = (w0 p0 + (s' alpha + d beta + s' beta (v-2)) pi_x + u' (1 - p0 - v pi_x))/N_x  same topic
///   out_y = (w0 p0 + u' (alpha + beta (v-1)) pi_x + (d + s' (v-1)) pi_y
///            + u' (1 - p0 - v pi_x - v pi_y))/N_x                                          other topics
///   L     = p_c L_C + p_r [tau/T L_R1 + (1 - tau/T) L_R0] + (1 - p_c - p_r) L_M
///   L_C   = (out_i - 1)^2 + (v-1) out_s^2 + (tau-1) v out_1^2 + (T-tau) v out_0^2          x = 1
///   L_R1  = out_i^2 + (v-1) out_s^2 + (tau-1) v out_1^2 + (T-tau) v out_0^2 + 1
///           - 2 [(out_i + (v-1) out_s)/(tau v) + (tau-1)/tau out_1]                        x = 1
///   L_R0  = out_i^2 + (v-1) out_s^2 + tau v out_1^2 + (T-tau-1) v out_0^2 - 2 out_1 + 1    x = 0
///   L_M   = the loss under uniform attention; 1 - 1/(tau v) where W_V is optimal there
/// Making it costs O(1) for block values, O(T (Tv)^2) otherwise; a value O(1).
/// Source: arXiv 2303.04245, Theorem 3; the closed form is derived here.

#include <array>
#include <vector>

#include "theorems/topic/rungs/law.hpp"

namespace popgrad::topic {

/// c[0] + c[1] alpha + c[2] beta.
template <class T>
struct LinearForm {
  std::array<T, 3> c{T(0), T(0), T(0)};
  T operator()(const T& alpha, const T& beta) const { return c[0] + c[1] * alpha + c[2] * beta; }
};

/// q[0] + q[1] alpha + q[2] beta + q[3] alpha^2 + q[4] alpha beta + q[5] beta^2.
template <class T>
struct QuadraticForm {
  std::array<T, 6> q{T(0), T(0), T(0), T(0), T(0), T(0)};
  T operator()(const T& alpha, const T& beta) const {
    return q[0] + alpha * (q[1] + q[3] * alpha + q[4] * beta) + beta * (q[2] + q[5] * beta);
  }
  /// (d/d alpha, d/d beta).
  [[nodiscard]] std::array<T, 2> gradient(const T& alpha, const T& beta) const {
    return {T(q[1] + T(2) * q[3] * alpha + q[4] * beta),
            T(q[2] + q[4] * alpha + T(2) * q[5] * beta)};
  }
  /// += weight * f^2.
  void add_square(const T& weight, const LinearForm<T>& f);
};

template <class T>
struct Landscape {
  struct Part {  ///< topic of the query present (x = 1) or not (x = 0)
    QuadraticForm<T> square;
    LinearForm<T> linear, normaliser;
  };
  T constant{0};
  std::array<Part, 2> parts;

  T operator()(const T& alpha, const T& beta) const {
    T sum = constant;
    for (const Part& part : parts) {
      const T n = part.normaliser(alpha, beta);
      sum = sum + (part.square(alpha, beta) / n - part.linear(alpha, beta)) / n;
    }
    return sum;
  }
  /// (d/d alpha, d/d beta).
  [[nodiscard]] Vector<T> gradient(const T& alpha, const T& beta) const;
  [[nodiscard]] Matrix<T> hessian(const T& alpha, const T& beta) const;
  /// Does L depend on g = alpha + (v - 1) beta only? Decided exactly for exact scalars.
  [[nodiscard]] bool depends_on_sum_alone(Index words) const;

  template <class U>
  [[nodiscard]] Landscape<U> cast() const;
};

/// Weight of [MASK] as a key, for queries that are words and for [MASK] itself; 1 in the landscape.
template <class T>
struct MaskWeights {
  T of_words{1}, of_mask{1};
};

template <class T, class Count>
Landscape<T> landscape(const TopicLaw<T, Count>& law, const BlockValue<T>& value,
                       const MaskWeights<T>& masks = {});
/// Any W_V (Tv + 1 square).
template <class T>
Landscape<T> landscape(const TopicLaw<T>& law, const Matrix<T>& value);

/// Values on a grid, row by row: alphas within betas. Rows are shared by `jobs` threads (0: all).
std::vector<double> on_grid(const Landscape<double>& landscape, const std::vector<double>& alphas,
                            const std::vector<double>& betas, int jobs);

}  // namespace popgrad::topic
