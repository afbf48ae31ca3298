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

#include <array>
#include <cstddef>

#include "theorems/scb/rungs/instance.hpp"

namespace popgrad::scb {

/// diag(p) - p p': the covariance of a token drawn by the law p, one-hot.
inline Matrix<double> token_covariance(const Vector<double>& law) {
  return Matrix<double>(law.asDiagonal()) - law * law.transpose();
}

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

/// <V, P> and <V, V>, both in one pass over V and without memory of its own in each.
template <class T>
class ValueProducts {
 public:
  struct Pair {
    T product{0};  ///< <V, P>
    T square{0};   ///< <V, V>
  };

  ValueProducts() = default;
  explicit ValueProducts(const Bigrams<T>& b)
      : mean_next_(Vector<T>::Constant(b.tokens(), T(0))), mean_(mean_next_) {
    for (Index k = 0; k < b.tokens(); ++k) {
      for (Index i = 0; i < b.tokens(); ++i) {
        mean_next_[i] = mean_next_[i] + b.transition(i, k) * b.stationary[k];
      }
    }
  }

  /// What `covariance_product` gives, to the bit: of these bigrams, V (N x N). Cost N^2.
  template <class V>
  Pair of(const V& v, const Bigrams<T>& b) const {
    Pair sums;
    for (T& mean : mean_) mean = T(0);
    // A sum waits for its last term; those of several columns do not wait for each other.
    constexpr Index together = 4;
    Index k = 0;
    for (; k + together <= b.tokens(); k += together) add_columns<together>(v, b, k, sums);
    for (; k < b.tokens(); ++k) add_columns<1>(v, b, k, sums);
    for (Index i = 0; i < b.tokens(); ++i) {
      sums.product = sums.product - mean_[i] * mean_next_[i];
      sums.square = sums.square - mean_[i] * mean_[i];
    }
    return sums;
  }

 private:
  template <Index count, class V>
  void add_columns(const V& v, const Bigrams<T>& b, Index first, Pair& sums) const {
    std::array<T, static_cast<std::size_t>(count)> product, square;
    product.fill(T(0));
    square.fill(T(0));
    for (Index i = 0; i < b.tokens(); ++i) {
      T mean = mean_[i];
      for (Index c = 0; c < count; ++c) {
        const auto at = static_cast<std::size_t>(c);
        const T& value = v(i, first + c);
        product[at] = product[at] + value * b.transition(i, first + c);
        square[at] = square[at] + value * value;
        mean = mean + value * b.stationary[first + c];
      }
      mean_[i] = mean;
    }
    for (Index c = 0; c < count; ++c) {
      const auto at = static_cast<std::size_t>(c);
      sums.product = sums.product + b.stationary[first + c] * product[at];
      sums.square = sums.square + b.stationary[first + c] * square[at];
    }
  }

  Vector<T> mean_next_;     ///< P mu
  mutable Vector<T> mean_;  ///< V mu
};

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
