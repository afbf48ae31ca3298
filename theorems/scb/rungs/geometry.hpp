#pragma once
/// The products and norms in which sparse contextual bigrams are linear algebra of two numbers.
///
///   D        = diag(mu)
///   C        = D - mu mu'
///   <M, L>   = tr(M' L C)
///   |M|_mu^2 = tr(M' M D)
///   K_P      = <P, P>
///   K_Q      = sum_k mu_k |q^k|^2
/// Only + - *: every scalar, rationals and symbols included.

#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

/// tr(M' L C) (N x N each). Cost N^2.
template <class T, class M, class L>
T covariance_product(const M& left, const L& right, const Vector<T>& mu) {
  T sum(0);
  Vector<T> left_mean = Vector<T>::Constant(left.rows(), T(0));
  Vector<T> right_mean = left_mean;
  for (Index k = 0; k < mu.size(); ++k) {
    T product(0);
    for (Index i = 0; i < left.rows(); ++i) {
      product = product + left(i, k) * right(i, k);
      left_mean[i] = left_mean[i] + left(i, k) * mu[k];
      right_mean[i] = right_mean[i] + right(i, k) * mu[k];
    }
    sum = sum + mu[k] * product;
  }
  for (Index i = 0; i < left.rows(); ++i) sum = sum - left_mean[i] * right_mean[i];
  return sum;
}

/// |M|_mu^2.
template <class T, class M>
T stationary_square(const M& matrix, const Vector<T>& mu) {
  T sum(0);
  for (Index k = 0; k < mu.size(); ++k) {
    for (Index i = 0; i < matrix.rows(); ++i) sum = sum + mu[k] * matrix(i, k) * matrix(i, k);
  }
  return sum;
}

/// K_P.
template <class T>
T transition_size(const Bigrams<T>& bigrams) {
  return covariance_product(bigrams.transition, bigrams.transition, bigrams.stationary);
}

/// K_Q.
template <class T>
T context_size(const Bigrams<T>& bigrams) {
  T sum(0);
  for (Index k = 0; k < bigrams.tokens(); ++k) {
    for (Index e = bigrams.first[static_cast<std::size_t>(k)];
         e < bigrams.first[static_cast<std::size_t>(k + 1)]; ++e) {
      sum = sum + bigrams.stationary[k] * bigrams.law[e] * bigrams.law[e];
    }
  }
  return sum;
}

}  // namespace popgrad::scb
