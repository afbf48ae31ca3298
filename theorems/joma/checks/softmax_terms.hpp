#pragma once
/// The terms of the rate of the softmax residual, over numbers or generic symbols.

#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::joma::checks {

/// Means over samples of b and of q = sum_k g_k phi' v_k'b.
template <class T>
struct SoftmaxTerms {
  Vector<T> mean_attention;  ///< b_bar = E[b] (M_C)
  Vector<T> joint;           ///< E[b q] (M_C)
  T mean_q;                  ///< E[q]
  /// E[b q] - b_bar E[q] (M_C).
  [[nodiscard]] Vector<T> defect() const { return joint - mean_attention * mean_q; }
};

/// `b` (M_C x S) of every sample, `weight` its probability, `pulled` = g_k phi' (K x S), `images` =
/// v_k'b (K x S).
template <class T>
SoftmaxTerms<T> softmax_terms(const Matrix<T>& b, const Vector<T>& weight, const Matrix<T>& pulled,
                              const Matrix<T>& images) {
  SoftmaxTerms<T> terms;
  terms.mean_attention = b * weight;
  terms.joint = Vector<T>::Constant(b.rows(), T(0));
  terms.mean_q = T(0);
  for (Index s = 0; s < weight.size(); ++s) {
    const T share = weight[s] * pulled.col(s).dot(images.col(s));
    terms.mean_q = terms.mean_q + share;
    terms.joint += b.col(s) * share;
  }
  return terms;
}

/// Defect of the condition of unit k, E[g_k phi' b b'] - b_bar E[g_k phi' b'] (M_C x M_C).
template <class T>
Matrix<T> condition_defect(const Matrix<T>& b, const Vector<T>& weight, const Matrix<T>& pulled,
                           Index unit) {
  const Vector<T> share = weight.cwiseProduct(pulled.row(unit).transpose());
  const Vector<T> mean = b * weight;
  const Vector<T> first = b * share;
  return b * share.asDiagonal() * b.transpose() - mean * first.transpose();
}

/// Two equally likely samples attending to one token each, of two units:
///   g   = (1, 0) and (-1, 0)
///   v_1 = (1, 0)
///   v_2 = (-1/2, 0)
/// The condition summed over units is met, that of each unit is not.
template <class T>
struct SummedConditionExample {
  Matrix<T> b = Matrix<T>::Identity(2, 2);
  Vector<T> weight = Vector<T>::Constant(2, T(1) / T(2));
  Matrix<T> pulled = Matrix<T>::Constant(2, 2, T(0));
  Matrix<T> v = Matrix<T>::Constant(2, 2, T(0));

  SummedConditionExample() {
    pulled(0, 0) = T(1);
    pulled(1, 0) = T(-1);
    v(0, 0) = T(1);
    v(0, 1) = T(-1) / T(2);
  }
  [[nodiscard]] Matrix<T> summed_condition() const {
    return condition_defect(b, weight, pulled, 0) + condition_defect(b, weight, pulled, 1);
  }
  [[nodiscard]] Vector<T> defect() const {
    return softmax_terms<T>(b, weight, pulled, v.transpose() * b).defect();
  }
};

}  // namespace popgrad::joma::checks
