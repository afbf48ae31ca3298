#pragma once
/// The conserved quantity of Theorem 1, and its prediction z_hat of the attention logits.
///
///   linear   z^2 = sum_k v_k^2 + c                  (no temperature)
///   exp      z   = (1/2T) sum_k v_k^2 + c
///   softmax  z   = (1/2T) sum_k (v_k^2 - |v_k|^2 b_bar) + c, if b_bar is constant and factors out
/// Squares are entrywise over tokens, c is fixed by the start. Source: arXiv 2310.00535, Theorem 1.

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/rungs/attention.hpp"

namespace popgrad::joma {

/// sum_k v_k^2 (M_C) of v (M_C x K).
template <class T, class Weights>
Vector<T> squared_weights(const Weights& v) {
  Vector<T> sum = Vector<T>::Constant(v.rows(), T(0));
  for (Index k = 0; k < v.cols(); ++k) sum += v.col(k).cwiseProduct(v.col(k));
  return sum;
}

template <class T>
bool is_constant(const Vector<T>& x) {
  for (Index i = 1; i < x.size(); ++i) {
    if (!(x[i] == x[0])) return false;
  }
  return true;
}

/// The prediction of z, up to c:
///   linear   sum_k v_k^2, to be compared with z^2
///   exp      (1/2T) sum_k v_k^2
///   softmax  (1/2T) sum_k (v_k^2 - |v_k|^2 b_bar)
/// `mean_weights` = b_bar is read for softmax only.
template <class T, class Weights>
Vector<T> predicted_logits(Attention attention, const Weights& v, const T& temperature,
                           const Vector<T>& mean_weights) {
  Vector<T> squares = squared_weights<T>(v);
  if (attention == Attention::linear) return squares;
  if (attention == Attention::softmax) {
    const T total = squares.sum();
    squares -= total * mean_weights;
  }
  return squares / (T(2) * temperature);
}

/// R with dR/dt = 0 where the theorem applies: z - prediction, or z^2 - sum v^2 (linear).
template <class T, class Weights>
Vector<T> invariant(Attention attention, const Weights& v, const Vector<T>& z, const T& temperature,
                    const Vector<T>& mean_weights) {
  const Vector<T> predicted = predicted_logits<T>(attention, v, temperature, mean_weights);
  if (attention == Attention::linear) return z.cwiseProduct(z) - predicted;
  return z - predicted;
}

/// How far a state is from the invariant of its start.
template <class T>
struct InvariantReading {
  T absolute{0};     ///< max over tokens of |R - R(0)|
  T relative{0};     ///< |R - R(0)|_2 / |z|_2 (of z^2 for linear attention); 0 at z = 0
  T correlation{0};  ///< Pearson correlation of z and its prediction; 0 where one is constant
};

/// Linear attention compares z^2 with its prediction. Cost O(M_C K).
template <class T, class Weights>
InvariantReading<T> read_invariant(Attention attention, const Weights& v, const Vector<T>& z,
                                   const T& temperature, const Vector<T>& mean_weights,
                                   const Vector<T>& at_start) {
  InvariantReading<T> reading;
  if constexpr (Ordered<T>) {
    using std::sqrt;
    const Vector<T> residual = invariant<T>(attention, v, z, temperature, mean_weights) - at_start;
    const Vector<T> actual = attention == Attention::linear ? Vector<T>(z.cwiseProduct(z)) : z;
    const Vector<T> predicted = actual - residual;
    T residual_square(0);
    T square(0);
    for (Index l = 0; l < z.size(); ++l) {
      const T size = residual[l] < T(0) ? T(-residual[l]) : residual[l];
      if (reading.absolute < size) reading.absolute = size;
      residual_square = residual_square + size * size;
      square = square + actual[l] * actual[l];
    }
    if (square > T(0)) reading.relative = sqrt(T(residual_square / square));
    if (!is_constant(actual) && !is_constant(predicted)) {
      reading.correlation = popgrad::correlation<T>(actual, predicted);
    }
  }
  return reading;
}

}  // namespace popgrad::joma
